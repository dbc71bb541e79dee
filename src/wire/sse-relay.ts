import { CR, LF } from '../core/ascii.js'
import { startsAt } from './bytes.js'
import { type EndMembers, endMembers } from './end-members.js'
import { Lines } from './lines.js'
import { PendingBytes } from './pending-bytes.js'
import { EventReader, type RelayEnd } from './sse-event.js'
import { overLimit, type SseLimits } from './sse-limits.js'
import { TAIL_BYTES } from './tail.js'

export type { RelayEnd } from './sse-event.js'

export interface RelayOptions extends SseLimits {
  /** Absent if only the end of the transfer ends the stream. */
  readonly end: RelayEnd | undefined
  /** Called with the data of each event that ends the stream but may repeat. Do not keep the buffer. */
  readonly onRepeated?: (data: Buffer) => void
  /** Called with the data of each event over 16 KiB. Do not keep the buffer. */
  readonly onLarge?: (data: Buffer) => void
}

const BOM = Buffer.from('\uFEFF')
/** Max size of the first event that is kept. */
const MAX_FIRST_EVENT_BYTES = 64 * 1024

/** The end of a stream is searched in this many bytes; longer events must be read as they pass. */
const LARGE_EVENT_BYTES = TAIL_BYTES

const nothing = (): void => undefined

/**
 * Relays an event stream in whole events, without decoding and, as long as chunks contain whole events, without copying.
 * Events end as the standard says (WHATWG HTML, 9.2.6); every byte goes out as it came in. The output does not depend on
 * how the stream is cut, and the time is linear.
 *
 * Its methods are `private` and not `#`: V8 in Node 20 does not inline calls of `#` methods.
 */
export class SseRelay {
  readonly #limits: SseLimits
  readonly #reader: EventReader
  readonly #repeats: boolean
  /** The stream is incomplete without one of these members; undefined once one has occurred. */
  #members: EndMembers | undefined
  readonly #onRepeated: (data: Buffer) => void
  readonly #onLarge: (data: Buffer) => void
  /** The beginning of an incomplete event. */
  readonly #pending = new PendingBytes()
  /** Bytes of that event before its current line, and bytes of that line. */
  #before = 0
  #line = 0
  /** Whether the last chunk ended in a CR: the next LF may belong to it. */
  #afterCr = false
  #isFirst = true
  #events = 0
  #content = 0
  #trailing = 0
  #ended = false
  #whole = false
  /** Whether a member has occurred with which the stream may end. */
  #told = false
  #fault: 'line' | 'event' | 'json' | undefined
  #failure: Uint8Array | undefined
  #first: Uint8Array | undefined

  constructor(options: RelayOptions) {
    this.#limits = { line: options.line, event: options.event }
    this.#reader = new EventReader(options.end)
    this.#repeats = options.end?.repeats ?? false
    this.#members = endMembers(options.end)
    this.#onRepeated = options.onRepeated ?? nothing
    this.#onLarge = options.onLarge ?? nothing
  }

  /** Number of events so far, comments and pings included. */
  get events(): number {
    return this.#events
  }

  /** Number of events with data, without comments, pings and the end marker. */
  get content(): number {
    return this.#content
  }

  /** Whether the event that ends the stream has passed. */
  get ended(): boolean {
    return this.#ended
  }

  /**
   * Whether the stream may end here: an event that ends it has passed, the last event was one that may repeat, or a member
   * has occurred that reports how the answer ended.
   */
  get whole(): boolean {
    return this.#whole
  }

  /** Number of bytes after the end; they are dropped. */
  get trailing(): number {
    return this.#trailing
  }

  /** Number of bytes of an incomplete event. */
  get held(): number {
    return this.#pending.length
  }

  /** Data of the first event that reports an upstream error. */
  get failure(): Uint8Array | undefined {
    return this.#failure
  }

  /** Why output has stopped: a limit was exceeded, or an event's data cannot be JSON. */
  get fault(): 'line' | 'event' | 'json' | undefined {
    return this.#fault
  }

  /** The lines of the first event with data, as they came, if they are at most 64 KiB. */
  get first(): Uint8Array | undefined {
    return this.#first
  }

  /**
   * Takes a chunk and returns the bytes that may go out now: all whole events up to the one that ends the stream, and
   * nothing from an invalid event on.
   */
  push(chunk: Buffer): Buffer | undefined {
    if (chunk.length === 0 || this.#fault !== undefined) return undefined
    if (this.#ended) return this.drop(chunk)
    if (this.#pending.length === 0) return this.relay(chunk, this.#afterCr && chunk[0] === LF ? 1 : 0)
    const mayBeBom = this.#isFirst && this.#pending.length < BOM.length
    this.#pending.append(chunk)
    return mayBeBom || this.closes(chunk) ? this.relay(this.#pending.take(), 0) : undefined
  }

  /** Relays the whole events of `bytes`, with an event beginning at `from`, and stores the rest. */
  private relay(bytes: Buffer, from: number): Buffer | undefined {
    const lines = new Lines(bytes)
    const reader = this.#reader
    let whole = from
    let line = this.#isFirst && startsAt(bytes, 0, BOM) ? BOM.length : from
    reader.begin()
    while (!this.#ended) {
      const end = lines.end(line)
      this.#fault = overLimit(this.#limits, line - whole, end - line)
      if (this.#fault !== undefined) break
      if (end === bytes.length) {
        this.hold(bytes, whole, line)
        break
      }
      const next = lines.after(end)
      if (end > line) {
        reader.line(bytes, line, end)
      } else {
        if (line > whole) this.settle(bytes, whole, line, next)
        if (this.#fault !== undefined) break
        whole = next
        this.#isFirst = false
        reader.begin()
      }
      line = next
    }
    if (this.#ended) this.#trailing = bytes.length - whole
    this.#afterCr = bytes[bytes.length - 1] === CR && this.#trailing === 0
    if (whole === bytes.length) return bytes
    return whole === 0 ? undefined : bytes.subarray(0, whole)
  }

  /** Records a whole event whose blank line begins at `blank`. */
  private settle(bytes: Buffer, start: number, blank: number, end: number): void {
    const reader = this.#reader
    const kind = reader.kind(bytes, start, end)
    if (kind === 'garbage') {
      this.#fault = 'json'
      return
    }
    this.#events++
    const isLast = reader.isLast
    if (isLast || kind !== 'nothing') this.#whole = isLast || this.#told
    if (this.#members?.mayStandIn(bytes.subarray(start, blank)) === true) this.judge(reader.data(bytes, start, end))
    this.#ended = isLast && (!this.#repeats || kind === 'nothing')
    if (kind === 'nothing') return
    if (blank - start > LARGE_EVENT_BYTES) this.#onLarge(reader.data(bytes, start, end))
    if (isLast && this.#repeats) this.#onRepeated(reader.data(bytes, start, end))
    if (this.#content++ === 0 && blank - start <= MAX_FIRST_EVENT_BYTES)
      this.#first = Buffer.from(bytes.subarray(start, blank))
    if (kind === 'error') this.#failure ??= Buffer.from(reader.data(bytes, start, end))
  }

  /** Records an event that seems to report how the answer ended. */
  private judge(data: Buffer): void {
    if (this.#members?.standIn(data) !== true) return
    this.#members = undefined
    this.#told = true
    this.#whole = true
  }

  private hold(bytes: Buffer, start: number, line: number): void {
    // Most chunks end at the end of an event.
    if (start < bytes.length) this.#pending.append(bytes.subarray(start))
    this.#before = line - start
    this.#line = bytes.length - line
  }

  /** Whether a chunk, already in `#pending`, ends the current event. */
  private closes(chunk: Buffer): boolean {
    const lines = new Lines(chunk)
    let start = this.#afterCr && chunk[0] === LF ? 1 : 0
    this.#before += start
    for (;;) {
      const end = lines.end(start)
      const line = this.#line + end - start
      this.#fault = overLimit(this.#limits, this.#before, line)
      if (this.#fault !== undefined) {
        this.#pending.take()
        return false
      }
      if (end === chunk.length) {
        this.#line = line
        this.#afterCr = chunk[end - 1] === CR
        return false
      }
      if (line === 0) return true
      const next = lines.after(end)
      this.#before += line + next - end
      this.#line = 0
      start = next
    }
  }

  /** After the last event only the LF of its CRLF may still go out. */
  private drop(chunk: Buffer): Buffer | undefined {
    const own = this.#afterCr && chunk[0] === LF ? 1 : 0
    this.#afterCr = false
    this.#trailing += chunk.length - own
    return own === 1 ? chunk.subarray(0, 1) : undefined
  }
}
