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
export class JsonCursor {
  readonly doc: Buffer
  readonly #strings: StringReader

  constructor(doc: Buffer) {
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
    const open: boolean[] = []
    let state: number = g.VALUE
    let isKey = false
    for (let at = start; ; ) {
      if (state === g.STRING) at = this.#strings.skip(at)
      const step = g.GRAMMAR[(state << 8) | (this.doc[at] ?? 0)] ?? g.SYNTAX
      if (step < g.REREAD) at++
      switch (step) {
        case 64 satisfies typeof g.OPEN_OBJECT:
          open.push(true)
          state = g.FIRST_MEMBER
          break
        case 65 satisfies typeof g.OPEN_ARRAY:
          open.push(false)
          state = g.FIRST_ELEMENT
          break
        case 67 satisfies typeof g.BEGIN_KEY:
        case 68 satisfies typeof g.BEGIN_STRING:
          isKey = step === g.BEGIN_KEY
          state = g.STRING
          break
        case 128 satisfies typeof g.BEGIN_SCALAR:
          state = g.SCALAR
          break
        case 71 satisfies typeof g.NEXT_MEMBER:
          state = g.MEMBER
          break
        case 72 satisfies typeof g.NEXT_ELEMENT:
          state = g.VALUE
          break
        case 66 satisfies typeof g.CLOSE:
        case 69 satisfies typeof g.END_STRING:
        case 70 satisfies typeof g.END_LITERAL:
        case 129 satisfies typeof g.END_NUMBER:
          if (step === g.END_STRING && isKey) {
            isKey = false
            state = g.COLON
            break
          }
          if (step === g.CLOSE) open.pop()
          if (open.length === 0) return at
          state = open[open.length - 1] === true ? g.AFTER_MEMBER : g.AFTER_ELEMENT
          break
        case 73 satisfies typeof g.SYNTAX:
          throw malformed(at - 1)
        default:
          state = step
      }
    }
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
