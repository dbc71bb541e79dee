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
import { isAt, next } from './bytes.js'
import type { Path } from './json-path.js'
import { PendingBytes } from './pending-bytes.js'

/** Max size of a value's JSON: a longer value counts as absent. */
const MAX_VALUE_BYTES = 16 * 1024
/** Max size of a key that is compared if it spans chunks. */
const MAX_KEY_BYTES = 1024
/** Bytes scanned by hand before the rest is searched: a native search costs about 15 ns. */
const NEAR_BYTES = 48

/** The bytes that matter outside searched values: they open or close a container, or open a string. */
const MARKS = [QUOTE, OPEN_BRACKET, CLOSE_BRACKET, OPEN_BRACE, CLOSE_BRACE] as const
const IS_MARK = new Uint8Array(256)
for (const mark of MARKS) IS_MARK[mark] = 1

/** The names of each path, as written in JSON. */
type Names = readonly (readonly Buffer[])[]

const NAMES = new WeakMap<readonly Path[], Names>()

/** Built once for the paths of each protocol. */
function namesOf(paths: readonly Path[]): Names {
  const known = NAMES.get(paths)
  if (known !== undefined) return known
  const made = paths.map(path => path.map(name => Buffer.from(name)))
  NAMES.set(paths, made)
  return made
}

/**
 * Reads the values at declared paths of a JSON document (`usage`, `response.usage`, `candidates.*.finishReason`) as it
 * passes in chunks of any size, and reports whether the document has closed. The same name at another path, such as in the
 * arguments of a tool, does not match. `*` is any array element or object member.
 *
 * As for `JSON.parse`, the last of duplicate members counts. The grammar is not checked: for invalid JSON the values are
 * meaningless. Memory is bounded for every document.
 */
export class PlacedValues {
  readonly #paths: readonly Path[]
  readonly #names: Names
  readonly #values: unknown[]
  readonly #all: number
  /** By depth: the paths, as bits, that lead through the open container. */
  readonly #masks: number[] = [0]
  readonly #objects: boolean[] = [false]
  #depth = 0
  /** Containers deeper than this contain no declared path; only their ends are searched. */
  #floor = 0
  #inString = false
  #escaped = false
  #isKey = false
  /** Whether the next string is a key, in the open object. */
  #expectsKey = false
  /** Paths, as bits, that end at the current value or lead through it. */
  #here = 0
  #inValue = false
  /** Paths, as bits, whose value is being read. */
  #reading = 0
  readonly #pending = new PendingBytes()
  /** Start of the key or value being read in this chunk; -1 if none is. */
  #from = -1
  #overflow = false
  #closed = false
  #torn = false

  /** At most 31 paths; none is a prefix of another. */
  constructor(paths: readonly Path[]) {
    this.#paths = paths
    this.#names = namesOf(paths)
    this.#values = paths.map(() => undefined)
    this.#all = 2 ** paths.length - 1
  }

  /** The parsed value at the path with this index; undefined if there is none so far. */
  value(index: number): unknown {
    return this.#values[index]
  }

  /** Whether every container and string has been closed, and nothing followed. */
  get isWhole(): boolean {
    return this.#closed && !this.#torn && this.#depth === 0
  }

  push(bytes: Buffer, start = 0, end = bytes.length): void {
    const piece = end === bytes.length ? bytes : bytes.subarray(0, end)
    const marks = new Marks(piece)
    if (this.#from >= 0) this.#from = start
    for (let at = start; at < end; ) {
      if (this.#inString) at = this.passString(piece, at)
      else if (this.#depth > this.#floor) at = this.passDeep(piece, marks, at)
      else this.take(piece[at] ?? 0, piece, at++)
    }
    if (this.#from >= 0) this.hold(piece, end)
  }

  /** Reads on through a string: past its quote, or to the end of the chunk. */
  private passString(bytes: Buffer, at: number): number {
    const close = this.closing(bytes, at)
    if (close === bytes.length) return close
    this.#inString = false
    if (this.#isKey) this.endKey(bytes, close)
    else if (this.#depth === this.#floor) this.endValue(bytes, close + 1)
    return close + 1
  }

  /** Reads on through containers that contain no declared path. */
  private passDeep(bytes: Buffer, marks: Marks, from: number): number {
    const at = marks.next(from)
    if (at === bytes.length) return at
    const byte = bytes[at]
    if (byte === QUOTE) this.#inString = true
    else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) this.#depth++
    else if (--this.#depth === this.#floor) this.leave(bytes, at)
    return at + 1
  }

  private take(byte: number, bytes: Buffer, at: number): void {
    switch (byte) {
      case SPACE:
      case LF:
      case CR:
      case TAB:
        return
      case QUOTE:
        this.#inString = true
        this.#isKey = this.#expectsKey
        if (this.#isKey) this.#from = at + 1
        else this.beginValue(at)
        return
      case COLON:
        return
      case COMMA:
        this.endValue(bytes, at)
        this.#inValue = false
        this.#expectsKey = this.#objects[this.#depth] === true
        return
      case OPEN_BRACE:
      case OPEN_BRACKET:
        this.beginValue(at)
        this.enter(byte === OPEN_BRACE)
        return
      case CLOSE_BRACE:
      case CLOSE_BRACKET:
        this.endValue(bytes, at)
        if (this.#depth === 0) this.#torn = true
        else {
          this.#floor = --this.#depth
          this.leave(bytes, at)
        }
        return
      default:
        if (!this.#inValue) this.beginValue(at)
        if (this.#depth === 0) this.#closed = false
    }
  }

  private beginValue(at: number): void {
    this.#inValue = true
    this.#closed = false
    if (this.#depth === 0) this.#here = this.#all
    else if (this.#objects[this.#depth] === false) this.#here = this.through(undefined, -1)
    this.#reading = this.leaves(this.#here)
    if (this.#reading !== 0) this.#from = at
  }

  /** A container begins; its value has already been begun. */
  private enter(isObject: boolean): void {
    const mask = this.#reading === 0 ? this.#here : 0
    this.#depth++
    if (mask === 0) return
    this.#floor = this.#depth
    this.#masks[this.#depth] = mask
    this.#objects[this.#depth] = isObject
    this.#expectsKey = isObject
    this.#inValue = false
  }

  /** A container has ended with the byte at `at`; its parent is open again. */
  private leave(bytes: Buffer, at: number): void {
    this.endValue(bytes, at + 1)
    this.#inValue = true
    this.#expectsKey = false
    if (this.#depth === 0) this.#closed = true
  }

  private endKey(bytes: Buffer, close: number): void {
    this.#isKey = false
    this.#expectsKey = false
    const from = this.#from
    this.#from = -1
    if (this.#pending.length === 0 && !this.#overflow) {
      this.#here = this.through(bytes.subarray(from, close), close - from)
      return
    }
    if (!this.#overflow) this.#pending.append(bytes.subarray(from, close))
    const key = this.#pending.take()
    this.#here = this.through(this.#overflow ? undefined : key, key.length)
    this.#overflow = false
  }

  /** The paths through the open container that continue with this key; without a key, those that continue with `*`. */
  private through(written: Buffer | undefined, length: number): number {
    const mask = this.#masks[this.#depth] ?? 0
    const key = written?.includes(BACKSLASH) ? decoded(written) : written
    let found = 0
    for (let index = 0; index < this.#paths.length; index++) {
      if ((mask & (1 << index)) === 0) continue
      const name = this.#names[index]?.[this.#depth - 1]
      const path = this.#paths[index] ?? []
      const isAny = path[this.#depth - 1] === '*'
      if (!isAny && (name === undefined || key === undefined || !isAt(key, 0, key.length, name))) continue
      found |= 1 << index
      // The last of duplicate members counts, even if it leads nowhere.
      const star = path.indexOf('*')
      if (length >= 0 && (star < 0 || star >= this.#depth)) this.#values[index] = undefined
    }
    return found
  }

  /** Those of the given paths that end here. */
  private leaves(mask: number): number {
    let found = 0
    for (let index = 0; mask !== 0 && index < this.#paths.length; index++) {
      if ((mask & (1 << index)) !== 0 && this.#paths[index]?.length === this.#depth) found |= 1 << index
    }
    return found
  }

  /** The value being read, if any, ends before `end`. */
  private endValue(bytes: Buffer, end: number): void {
    this.#here = 0
    if (this.#reading === 0) return
    this.hold(bytes, end)
    const json = this.#pending.take()
    const value = this.#overflow ? undefined : parsed(json)
    for (let index = 0; index < this.#paths.length; index++) {
      if ((this.#reading & (1 << index)) === 0) continue
      if (value !== null || this.#paths[index]?.includes('*') !== true) this.#values[index] = value
    }
    this.#reading = 0
    this.#from = -1
    this.#overflow = false
  }

  private hold(bytes: Buffer, end: number): void {
    const most = this.#isKey ? MAX_KEY_BYTES : MAX_VALUE_BYTES
    if (this.#pending.length + end - this.#from > most) this.#overflow = true
    else this.#pending.append(bytes.subarray(this.#from, end))
  }

  /** Position of the quote that ends the current string, or the length of the chunk. */
  private closing(bytes: Buffer, from: number): number {
    let at = from
    if (this.#escaped) {
      this.#escaped = false
      at++
    }
    const near = Math.min(bytes.length, at + NEAR_BYTES)
    while (at < near) {
      const byte = bytes[at]
      if (byte === QUOTE) return at
      at += byte === BACKSLASH ? 2 : 1
    }
    if (at >= bytes.length) {
      this.#escaped = at > bytes.length
      return bytes.length
    }
    for (;;) {
      const close = next(bytes, QUOTE, at)
      let slashes = 0
      while (close - slashes > at && bytes[close - slashes - 1] === BACKSLASH) slashes++
      const isEscape = slashes % 2 === 1
      if (close < bytes.length && isEscape) {
        at = close + 1
        continue
      }
      this.#escaped = close === bytes.length && isEscape
      return close
    }
  }
}

/** Finds the next mark in one chunk. For distant marks it uses native search, which looks at each byte once per mark. */
class Marks {
  readonly #bytes: Buffer
  readonly #found = [-1, -1, -1, -1, -1]

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  /** Position of the first mark at or after `from`; the length of the chunk if there is none. */
  next(from: number): number {
    const bytes = this.#bytes
    const near = Math.min(bytes.length, from + NEAR_BYTES)
    for (let at = from; at < near; at++) if (IS_MARK[bytes[at] ?? 0] === 1) return at
    if (near === bytes.length) return near
    let first = bytes.length
    for (let index = 0; index < MARKS.length; index++) {
      let found = this.#found[index] ?? 0
      if (found < near) {
        found = next(bytes, MARKS[index] ?? 0, near)
        this.#found[index] = found
      }
      if (found < first) first = found
    }
    return first
  }
}

function decoded(key: Buffer): Buffer | undefined {
  const text = parsed(Buffer.concat([Buffer.from('"'), key, Buffer.from('"')]))
  return typeof text === 'string' ? Buffer.from(text) : undefined
}

function parsed(json: Buffer): unknown {
  try {
    return JSON.parse(json.toString('utf8'))
  } catch {
    return undefined
  }
}
