import { asBuffer } from './bytes.js'
import { type Container, type Item, JsonCursor } from './json-cursor.js'
import { EVERY, type Path } from './json-path.js'
import { apply, type Edit, removals } from './json-splice.js'

/**
 * Follows paths into one document and collects edits of its bytes. If a name on the path is duplicated within one object
 * the last one counts, as for `JSON.parse`. The others are removed, so that no reader finds there what the edit did not
 * reach.
 */
export class Editor {
  readonly cursor: JsonCursor
  readonly top: Container
  readonly #doc: Uint8Array
  readonly #edits: Edit[] = []
  readonly #out = new Map<Container, Set<Item>>()

  /** Throws `SyntaxError` if the document is not a JSON object or array. */
  constructor(doc: Uint8Array) {
    this.#doc = doc
    this.cursor = new JsonCursor(asBuffer(doc))
    this.top = this.cursor.top()
  }

  /** The items that a segment names in a container: at most one, except for `*`. */
  items(container: Container, segment: string): readonly Item[] {
    if (segment === EVERY) return container.object ? this.#lastOfEachName(container) : container.items
    const found = this.cursor.named(container, segment)
    for (const item of found.slice(0, -1)) this.remove(container, item)
    return found.slice(-1)
  }

  #lastOfEachName(container: Container): readonly Item[] {
    const last = new Map<string, Item>()
    for (const item of container.items) {
      const name = this.cursor.nameOf(item)
      const earlier = last.get(name)
      if (earlier !== undefined) this.remove(container, earlier)
      last.set(name, item)
    }
    return [...last.values()]
  }

  /** The objects and arrays that a path leads to. */
  *containers(path: Path, from: Container = this.top): Generator<Container, void> {
    const [segment, ...rest] = path
    if (segment === undefined) {
      yield from
      return
    }
    for (const item of this.items(from, segment)) {
      const inner = this.inner(item)
      if (inner !== undefined) yield* this.containers(rest, inner)
    }
  }

  /** The items that a path leads to, each with its container. */
  *places(path: Path): Generator<Place, void> {
    const name = path.at(-1)
    if (name === undefined) return
    for (const container of this.containers(path.slice(0, -1))) {
      for (const item of this.items(container, name)) yield { container, item }
    }
  }

  /** The item's value as a container, if it is an object or array. */
  inner({ start }: Item): Container | undefined {
    return this.cursor.isContainer(start) ? this.cursor.container(start) : undefined
  }

  remove(container: Container, item: Item): void {
    const removed = this.#out.get(container)
    if (removed === undefined) this.#out.set(container, new Set([item]))
    else removed.add(item)
  }

  replace(start: number, end: number, bytes: Uint8Array): void {
    this.#edits.push({ start, end, bytes })
  }

  /** The edited document; the same object if there was nothing to edit. */
  result(): Uint8Array {
    const removed = [...this.#out].flatMap(([container, items]) => removals(container, items))
    const edits = [...this.#edits, ...removed]
    return edits.length === 0 ? this.#doc : apply(this.cursor.doc, edits)
  }
}

interface Place {
  readonly container: Container
  readonly item: Item
}
