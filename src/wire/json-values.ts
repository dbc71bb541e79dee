import { OPEN_BRACKET } from '../core/ascii.js'
import { parseJson } from '../core/json.js'
import { type Container, type Item, JsonCursor } from './json-cursor.js'
import type { Path } from './json-path.js'

/** Longer values of other types are not parsed. */
const MAX_VALUE_BYTES = 1024

/** Reads single values of a large JSON object without building the rest of it. Throws `SyntaxError` for anything else. */
export class JsonValues {
  readonly #cursor: JsonCursor
  #top: Container | undefined

  constructor(doc: Buffer) {
    this.#cursor = new JsonCursor(doc)
  }

  /** A number or a short string at a path without `*`, in which elements of lists have their indices as names; the number of elements of a list, and of bytes of a long string. */
  at(path: Path): unknown {
    const item = this.item(path)
    if (item === undefined) return undefined
    const { doc } = this.#cursor
    if (doc[item.start] === OPEN_BRACKET) return this.#cursor.container(item.start).items.length
    if (item.end - item.start > MAX_VALUE_BYTES) return item.end - item.start - 2
    return parseJson(doc.toString('utf8', item.start, item.end))
  }

  private item(path: Path): Item | undefined {
    const cursor = this.#cursor
    this.#top ??= cursor.root()
    let container = this.#top
    let found: Item | undefined
    for (const name of path) {
      if (found !== undefined) {
        if (!cursor.isContainer(found.start)) return undefined
        container = cursor.container(found.start)
      }
      found = container.object ? memberOf(cursor, container, name) : container.items[indexOf(name)]
      if (found === undefined) return undefined
    }
    return found
  }
}

/** As for `JSON.parse` the last of several counts. */
function memberOf(cursor: JsonCursor, { items }: Container, name: string): Item | undefined {
  const bytes = Buffer.from(name)
  return items.findLast(item => cursor.isNamed(item, name, bytes))
}

/** `-1`, where no element is, for what is not an index. */
function indexOf(name: string): number {
  return /^\d{1,6}$/.test(name) ? Number(name) : -1
}
