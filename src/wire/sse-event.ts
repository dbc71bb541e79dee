import {
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  CR,
  LF,
  LOWER_D,
  LOWER_E,
  LOWER_N,
  OPEN_BRACE,
  OPEN_BRACKET,
  SPACE,
  TAB,
} from '../core/ascii.js'
import { isAt, startsAt } from './bytes.js'
import { decodeSse } from './sse.js'
import { fieldValue, type LineReader } from './sse-framer.js'

/**
 * Which event ends a stream: one whose data is exactly `data`, or whose name (or type, if it has no name) is in `events`.
 * With `repeats` the latter may occur several times: they do not end the stream, which is complete if one of them came
 * last. With `members` the end of the transfer ends the stream, which is complete if some message had a non-null value at
 * one of these paths.
 */
export interface RelayEnd {
  readonly data: string | undefined
  readonly events: readonly string[]
  readonly members?: readonly (readonly string[])[]
  readonly repeats?: boolean
}

/**
 * What an event carries: `nothing` (a comment, no data, a ping, or the end marker), `content`, the upstream's `error`
 * report, or `garbage`, which cannot be JSON.
 */
type EventKind = 'nothing' | 'content' | 'error' | 'garbage'

const DATA = Buffer.from('data')
const EVENT = Buffer.from('event')
const PING = Buffer.from('ping')
const ERROR = Buffer.from('error')
const ERROR_TEXT = Buffer.from('"error"')
const TYPE_TEXT = Buffer.from('"type"')

/** The last event's data, names and types as bytes. */
interface EndBytes {
  readonly data: Buffer | undefined
  readonly names: readonly Buffer[]
  readonly types: readonly Buffer[]
}

const NO_END: EndBytes = { data: undefined, names: [], types: [] }
const ENDS = new WeakMap<RelayEnd, EndBytes>()

/** Built once per protocol. */
function endBytes(end: RelayEnd | undefined): EndBytes {
  if (end === undefined) return NO_END
  const known = ENDS.get(end)
  if (known !== undefined) return known
  const made = {
    data: end.data === undefined ? undefined : Buffer.from(end.data),
    names: end.events.map(name => Buffer.from(name)),
    types: end.events.map(name => Buffer.from(JSON.stringify(name))),
  }
  ENDS.set(end, made)
  return made
}

/**
 * Classifies an event from the positions of its lines in one run of bytes. It decodes and copies nothing, except for the
 * rare event whose data spans lines, or whose type follows other members.
 */
export class EventReader implements LineReader {
  readonly #endData: Buffer | undefined
  readonly #endNames: readonly Buffer[]
  readonly #endTypes: readonly Buffer[]
  readonly #end: RelayEnd | undefined
  /** Lines of the event so far, except blank lines and comments. */
  #dataLines = 0
  #dataStart = 0
  #dataEnd = 0
  #nameStart = 0
  #nameEnd = 0
  #isLast = false

  constructor(end: RelayEnd | undefined) {
    const { data, names, types } = endBytes(end)
    this.#end = end
    this.#endData = data
    this.#endNames = names
    this.#endTypes = types
  }

  /** Whether the event last classified ends the stream. */
  get isLast(): boolean {
    return this.#isLast
  }

  begin(): void {
    this.#dataLines = 0
    this.#nameEnd = this.#nameStart
  }

  /** Records a line that is not blank, without its end. */
  line(bytes: Buffer, start: number, end: number): void {
    const first = bytes[start]
    if (first === LOWER_D) {
      const value = fieldValue(bytes, start, end, DATA)
      if (value < 0) return
      if (this.#dataLines++ === 0) this.#dataStart = value
      this.#dataEnd = end
    } else if (first === LOWER_E) {
      const value = fieldValue(bytes, start, end, EVENT)
      if (value < 0) return
      this.#nameStart = value
      this.#nameEnd = end
    }
  }

  /** The data of the event from `start` to `end`, whose lines have been recorded. */
  data(bytes: Buffer, start: number, end: number): Buffer {
    if (this.#dataLines === 1) return bytes.subarray(this.#dataStart, this.#dataEnd)
    return Buffer.from(decodeSse(bytes.subarray(start, end))[0]?.data ?? '')
  }

  /** Classifies that event. */
  kind(bytes: Buffer, start: number, end: number): EventKind {
    this.#isLast = false
    if (this.#dataLines === 0) return 'nothing'
    if (this.#dataLines === 1) return this.kindOf(bytes, bytes, this.#dataStart, this.#dataEnd)
    const data = this.data(bytes, start, end)
    return this.kindOf(bytes, data, 0, data.length)
  }

  private kindOf(bytes: Buffer, data: Buffer, start: number, end: number): EventKind {
    if (this.#endData !== undefined && isAt(data, start, end, this.#endData)) {
      this.#isLast = true
      return 'nothing'
    }
    const isNamed = this.#nameEnd > this.#nameStart
    this.#isLast = isNamed && this.#endNames.some(name => this.isNamed(bytes, name))
    const first = skipSpace(data, start, end)
    if (first === end || (isNamed && this.isNamed(bytes, PING))) return 'nothing'
    if (!this.#isLast && !isEnclosed(data, first, end)) return 'garbage'
    if (!isNamed && this.#endTypes.length > 0) this.#isLast = this.hasEndType(data, first, end)
    return (isNamed && this.isNamed(bytes, ERROR)) || reportsError(data, first, end) ? 'error' : 'content'
  }

  private isNamed(bytes: Buffer, name: Buffer): boolean {
    return isAt(bytes, this.#nameStart, this.#nameEnd, name)
  }

  /** Whether the top-level `type` ends the stream. Parses only if such a text occurs at all. */
  private hasEndType(data: Buffer, first: number, end: number): boolean {
    const type = firstValue(data, first, end, TYPE_TEXT)
    if (type >= 0) return this.#endTypes.some(name => startsAt(data, type, name))
    const text = data.subarray(first, end)
    if (!this.#endTypes.some(name => text.includes(name))) return false
    return this.#end?.events.includes(typeOf(text.toString('utf8'))) === true
  }
}

function skipSpace(bytes: Buffer, start: number, end: number): number {
  let at = start
  while (at < end && isSpace(bytes[at])) at++
  return at
}

/** JSON white space (RFC 8259 §2); no other control characters. */
function isSpace(byte: number | undefined): boolean {
  return byte === SPACE || byte === TAB || byte === LF || byte === CR
}

/** Whether the text from `first` on is enclosed in braces or brackets. */
function isEnclosed(bytes: Buffer, first: number, end: number): boolean {
  let last = end - 1
  while (last > first && isSpace(bytes[last])) last--
  const close = bytes[first] === OPEN_BRACE ? CLOSE_BRACE : bytes[first] === OPEN_BRACKET ? CLOSE_BRACKET : -1
  return bytes[last] === close
}

/** Whether an object begins with a non-null `error`, or is of the type `error`. */
function reportsError(data: Buffer, first: number, end: number): boolean {
  const error = firstValue(data, first, end, ERROR_TEXT)
  if (error >= 0) return data[error] !== LOWER_N
  const type = firstValue(data, first, end, TYPE_TEXT)
  return type >= 0 && startsAt(data, type, ERROR_TEXT)
}

/** Start of the value of an object's first member if this is its key, as written; else -1. */
function firstValue(data: Buffer, first: number, end: number, key: Buffer): number {
  if (data[first] !== OPEN_BRACE) return -1
  const start = skipSpace(data, first + 1, end)
  if (!startsAt(data, start, key)) return -1
  const colon = skipSpace(data, start + key.length, end)
  return data[colon] === COLON ? skipSpace(data, colon + 1, end) : -1
}

function typeOf(text: string): string {
  try {
    const event: unknown = JSON.parse(text)
    return typeof event === 'object' && event !== null && 'type' in event ? String(event.type) : ''
  } catch {
    return ''
  }
}
