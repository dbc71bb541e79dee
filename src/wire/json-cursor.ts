import {
  BACKSLASH,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  COMMA,
  CR,
  LF,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
  SPACE,
  TAB,
} from '../core/ascii.js'
import { isAt } from './bytes.js'
import * as g from './json-grammar.js'
import { JsonReader } from './json-reader.js'
import { StringReader } from './json-runs.js'

/**
 * A member of an object, or an element of an array. An element has an empty key: `keyStart`, `keyEnd` and `start` are
 * equal.
 */
export interface Item {
  /** Offsets of the key, quotes included. */
  readonly keyStart: number
  readonly keyEnd: number
  /** Offsets of the value. */
  readonly start: number
  readonly end: number
}

/** An object or array and its direct items. `start` and `end` are the offsets of its brackets, inclusive. */
export interface Container {
  readonly object: boolean
  readonly start: number
  readonly end: number
  readonly items: readonly Item[]
}

/**
 * Reads a complete JSON document one container at a time and validates what it skips. Offsets are in bytes. Every method
 * throws `SyntaxError` if the text is not JSON.
 */
export class JsonCursor extends JsonReader {
  readonly doc: Buffer
  readonly #strings: StringReader
  /** Whether a whole value has been skipped. */
  #isWhole = false

  constructor(doc: Buffer) {
    super(g.VALUE)
    this.doc = doc
    this.#strings = new StringReader(doc)
  }

  /** The top-level object. Throws if the document is anything else. */
  root(): Container {
    const top = this.top()
    if (!top.object) throw malformed(top.start)
    return top
  }

  /** The top-level object or array. Throws if the document is anything else. */
  top(): Container {
    const start = this.skipSpace(0)
    if (!this.isContainer(start)) throw malformed(start)
    const top = this.container(start)
    const rest = this.skipSpace(top.end)
    if (rest !== this.doc.length) throw malformed(rest)
    return top
  }

  /** Whether the value at `start` is an object or array. */
  isContainer(start: number): boolean {
    return this.doc[start] === OPEN_BRACE || this.doc[start] === OPEN_BRACKET
  }

  /** The object or array that begins at `start`. */
  container(start: number): Container {
    const object = this.doc[start] === OPEN_BRACE
    const close = object ? CLOSE_BRACE : CLOSE_BRACKET
    const items: Item[] = []
    let at = this.skipSpace(start + 1)
    if (this.doc[at] === close) return { object, start, end: at + 1, items }
    for (;;) {
      const item = object ? this.#member(at) : this.#element(at)
      items.push(item)
      at = this.skipSpace(item.end)
      if (this.doc[at] === close) return { object, start, end: at + 1, items }
      if (this.doc[at] !== COMMA) throw malformed(at)
      at = this.skipSpace(at + 1)
    }
  }

  /** Whether an item's key is `name`, whose UTF-8 is `bytes`. */
  isNamed({ keyStart, keyEnd }: Item, name: string, bytes: Buffer): boolean {
    for (let at = keyStart; at < keyEnd; at++)
      if (this.doc[at] === BACKSLASH) return JSON.parse(this.doc.toString('utf8', keyStart, keyEnd)) === name
    return isAt(this.doc, keyStart + 1, keyEnd - 1, bytes)
  }

  /** The members with that name, or the array element with that index. */
  named({ object, items }: Container, name: string): readonly Item[] {
    if (object) {
      const bytes = Buffer.from(name)
      return items.filter(item => this.isNamed(item, name, bytes))
    }
    const item = /^(0|[1-9]\d{0,8})$/.test(name) ? items[Number(name)] : undefined
    return item === undefined ? [] : [item]
  }

  /** A member's key. */
  nameOf({ keyStart, keyEnd }: Item): string {
    const written = this.doc.toString('utf8', keyStart, keyEnd)
    return written.includes('\\') ? String(JSON.parse(written)) : written.slice(1, -1)
  }

  skipSpace(from: number): number {
    for (let at = from; ; at++) {
      const byte = this.doc[at]
      if (byte !== SPACE && byte !== LF && byte !== CR && byte !== TAB) return at
    }
  }

  /** The end of the value that begins at `start`. */
  skipValue(start: number): number {
    this.state = g.VALUE
    this.depth = 0
    this.isKey = false
    this.#isWhole = false
    const at = this.read(this.#strings, start, this.doc.length, 0)
    if (!this.#isWhole) throw malformed(this.state === g.DEAD ? at - 1 : at)
    return at
  }

  /** Stops behind the first value. */
  protected override after(): number {
    if (this.depth > 0) return super.after()
    this.#isWhole = true
    return g.DEAD
  }

  #member(keyStart: number): Item {
    if (this.doc[keyStart] !== QUOTE) throw malformed(keyStart)
    const keyEnd = this.skipValue(keyStart)
    const colon = this.skipSpace(keyEnd)
    if (this.doc[colon] !== COLON) throw malformed(colon)
    const start = this.skipSpace(colon + 1)
    return { keyStart, keyEnd, start, end: this.skipValue(start) }
  }

  #element(start: number): Item {
    return { keyStart: start, keyEnd: start, start, end: this.skipValue(start) }
  }
}

function malformed(at: number): SyntaxError {
  return new SyntaxError(`malformed JSON at byte ${at}`)
}
