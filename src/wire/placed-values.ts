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
import { JsonOutline } from './json-outline.js'
import type { Path } from './json-path.js'
import { PendingBytes } from './pending-bytes.js'

/** Max size of a value's JSON: a longer value counts as absent. */
const MAX_VALUE_BYTES = 16 * 1024
/** Max size of a key that is compared if it spans chunks. */
const MAX_KEY_BYTES = 1024
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
export class PlacedValues extends JsonOutline {
  readonly #paths: readonly Path[]
  readonly #names: Names
  readonly #values: unknown[]
  readonly #all: number
  /** By depth: the paths, as bits, that lead through the open container. */
  readonly #masks: number[] = [0]
  readonly #objects: boolean[] = [false]
  #depth = 0
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
    super()
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
    return this.#closed && !this.#torn && this.#depth === 0 && this.skipped === 0
  }

  push(bytes: Buffer, start = 0, end = bytes.length): void {
    const piece = end === bytes.length ? bytes : bytes.subarray(0, end)
    if (this.#from >= 0) this.#from = start
    this.walk(piece, start)
    if (this.#from >= 0) this.hold(piece, end)
  }

  protected endString(bytes: Buffer, _from: number, close: number): void {
    if (this.#isKey) this.endKey(bytes, close)
    else this.endValue(bytes, close + 1)
  }

  /** Keys and values alike are held at the end of the chunk. */
  protected holdString(): void {}

  protected mark(byte: number, bytes: Buffer, at: number): void {
    switch (byte) {
      case SPACE:
      case LF:
      case CR:
      case TAB:
        return
      case QUOTE:
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
          this.#depth--
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
    if (mask === 0) {
      this.skipped = 1
      return
    }
    this.#depth++
    this.#masks[this.#depth] = mask
    this.#objects[this.#depth] = isObject
    this.#expectsKey = isObject
    this.#inValue = false
  }

  /** A container has ended with the byte at `at`; its parent is open again. */
  protected leave(bytes: Buffer, at: number): void {
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
