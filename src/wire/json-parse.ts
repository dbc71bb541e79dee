import { OPEN_BRACE, OPEN_BRACKET, SPACE } from '../core/ascii.js'
import type { Json } from '../core/json.js'
import * as g from './json-grammar.js'
import { JsonReader } from './json-reader.js'
import { StringReader } from './json-runs.js'

/** Bytes read and parsed per turn of the event loop, except for longer strings. */
const STEP_BYTES = 32 * 1024

interface StepOptions {
  /** If it returns false for a top-level member, that member's lists and objects are not built. */
  readonly isKnown?: ((name: string) => boolean) | undefined
  /** Parses the parts; `JSON.parse` if absent. */
  readonly parse?: (text: string) => Json
  /** Bytes between two yields. */
  readonly step?: number
}

/**
 * `JSON.parse` of UTF-8 text that yields every 32 KiB; each byte is parsed once. If the document is an object, lists and
 * objects of members for which `isKnown` returns false are not built: an empty one, or one with a single 0, takes their
 * place. Throws `SyntaxError`.
 */
export function parseSteps(
  text: Buffer,
  { isKnown, parse = JSON.parse, step = STEP_BYTES }: StepOptions = {},
): Generator<void, Json> {
  return new StepParser(text, isKnown, parse, step).steps()
}

/** A list or object that is open at this position or, outermost, a holder for the document. */
class Open {
  object = false
  /** Its value so far, once a step has ended inside it. */
  made: Json[] | Record<string, Json> | undefined
  /** Start of the part that is not parsed yet. */
  from = 0
  /** Start of the current member or element, and the end of that member's key. */
  item = 0
  keyEnd = 0
  /** Whether the current value is parsed on its own, as is everything before it. */
  apart = false
  /** Whether it is not built at all. */
  skipped = false

  begin(object: boolean, at: number): void {
    this.object = object
    this.made = undefined
    this.from = at
    this.item = at
    this.apart = false
    this.skipped = false
  }
}

class StepParser extends JsonReader {
  readonly #text: Buffer
  readonly #isKnown: ((name: string) => boolean) | undefined
  readonly #open: Open[] = [new Open()]
  readonly #parse: (text: string) => Json
  readonly #step: number
  /** From here on, what is complete is parsed at the next comma. */
  #cut: number

  constructor(text: Buffer, isKnown: StepOptions['isKnown'], parse: (text: string) => Json, step: number) {
    super(g.VALUE)
    this.#text = text
    this.#parse = parse
    this.#isKnown = isKnown
    this.#step = step
    this.#cut = step
  }

  *steps(): Generator<void, Json> {
    const text = this.#text
    const { length } = text
    const first = text[this.blankTo(0)]
    if (first !== OPEN_BRACE && first !== OPEN_BRACKET) return this.#parse(text.toString('utf8'))
    const strings = new StringReader(text)
    for (let at = 0; at < length; ) {
      at = this.read(strings, at, Math.min(length, at + this.#step), 0)
      if (this.state === g.DEAD) throw new SyntaxError(`malformed JSON at byte ${at - 1}`)
      if (at < length) yield
    }
    if (this.state !== g.DONE) throw new SyntaxError('the JSON ends too early')
    return this.result()
  }

  protected override act(action: number, at: number): number {
    switch (action) {
      case 64 satisfies typeof g.OPEN_OBJECT:
      case 65 satisfies typeof g.OPEN_ARRAY:
        this.open(action === g.OPEN_OBJECT, at)
        break
      case 66 satisfies typeof g.CLOSE:
        this.close(at)
        break
      case 69 satisfies typeof g.END_STRING:
        if (this.isKey) this.top.keyEnd = at + 1
        break
      case 71 satisfies typeof g.NEXT_MEMBER:
      case 72 satisfies typeof g.NEXT_ELEMENT:
        this.next(at, at >= this.#cut)
        if (at >= this.#cut) this.#cut = at + this.#step
    }
    return super.act(action, at)
  }

  private get top(): Open {
    return this.at(this.depth)
  }

  private at(depth: number): Open {
    const open = this.#open[depth]
    if (open === undefined) throw new Error('nothing is open there')
    return open
  }

  private open(object: boolean, at: number): void {
    const { top: parent } = this
    const skipped = parent.skipped || (this.depth === 1 && this.isUnknown(parent))
    if (skipped && !parent.skipped) this.unfold(1)
    const child = this.#open[this.depth + 1] ?? new Open()
    this.#open[this.depth + 1] = child
    child.begin(object, at + 1)
    child.skipped = skipped
  }

  private isUnknown(root: Open): boolean {
    return root.object && this.#isKnown?.(this.keyOf(root)) === false
  }

  private close(at: number): void {
    const closed = this.top
    const parent = this.at(this.depth - 1)
    if (closed.skipped && !parent.skipped) {
      const isEmpty = this.blankTo(closed.item) === at
      this.put(parent, closed.object ? (isEmpty ? {} : { 0: 0 }) : isEmpty ? [] : [0])
    } else if (closed.made !== undefined && !closed.apart) this.make(closed, at)
  }

  /** Position of the first byte at or after `from` that is not white space. */
  private blankTo(from: number): number {
    let at = from
    while ((this.#text[at] ?? 0xff) <= SPACE) at++
    return at
  }

  /** Moves past the comma at `at`; `cut`: parse what came before it now. */
  private next(at: number, cut: boolean): void {
    const { top } = this
    if (cut) this.cut(at)
    if (top.apart || cut) top.from = at + 1
    top.apart = false
    top.item = at + 1
  }

  /** Parses everything complete before the comma at `at`. */
  private cut(at: number): void {
    if (this.top.skipped) return
    this.unfold(this.depth - 1)
    const { top } = this
    this.stand(this.depth)
    if (!top.apart) this.make(top, at)
  }

  /** Parses, down to this depth, everything before the current values, which are parsed on their own. */
  private unfold(depth: number): void {
    for (let level = 0; level <= depth; level++) {
      const open = this.stand(level)
      if (!open.apart && open.item > open.from) this.make(open, open.item - 1)
      open.apart = true
    }
  }

  /** The open container at this depth; created empty if nothing of it has been parsed. */
  private stand(depth: number): Open {
    const open = this.at(depth)
    if (open.made !== undefined) return open
    open.made = open.object ? {} : []
    if (depth > 0) this.put(this.at(depth - 1), open.made)
    return open
  }

  private make(open: Open, end: number): void {
    const inside = this.#text.toString('utf8', open.from, end)
    if (open.object) {
      const part = this.#parse(`{${inside}}`) as Readonly<Record<string, Json>>
      for (const name of Object.keys(part)) define(open.made as Record<string, Json>, name, part[name] as Json)
    } else {
      for (const item of this.#parse(`[${inside}]`) as Json[]) (open.made as Json[]).push(item)
    }
  }

  /** Adds the current value to its list or object. */
  private put(open: Open, value: Json): void {
    if (open.object) define(open.made as Record<string, Json>, this.keyOf(open), value)
    else (open.made as Json[]).push(value)
  }

  private keyOf({ item, keyEnd }: Open): string {
    return JSON.parse(this.#text.toString('utf8', item, keyEnd)) as string
  }

  private result(): Json {
    const { top } = this
    if (top.made !== undefined) return (top.made as Json[])[0] as Json
    return this.#parse(this.#text.toString('utf8'))
  }
}

/** As `JSON.parse` does: `__proto__` is an ordinary name. */
function define(object: Record<string, Json>, name: string, value: Json): void {
  if (name !== '__proto__') object[name] = value
  else Object.defineProperty(object, name, { value, writable: true, enumerable: true, configurable: true })
}
