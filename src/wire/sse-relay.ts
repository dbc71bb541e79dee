import { CR, LF } from '../core/ascii.js'
import { type EndMembers, endMembers } from './end-members.js'
import { EventReader, type RelayEnd } from './sse-event.js'
import { EventFramer, type SseLimits } from './sse-framer.js'
import { TAIL_BYTES } from './tail.js'

interface RelayOptions extends SseLimits {
  /** Absent if only the end of the transfer ends the stream. */
  readonly end: RelayEnd | undefined
  /** Called with the data of each event that ends the stream but may repeat. Do not keep the buffer. */
  readonly onRepeated?: (data: Buffer) => void
  /** Called with the data of each event over 8 KiB. Do not keep the buffer. */
  readonly onLarge?: (data: Buffer) => void
}

/** Max size of the first event that is kept. */
const MAX_FIRST_EVENT_BYTES = 64 * 1024

/** Longer events are read as they pass: the end of a stream, which is searched for the others, may lack their beginnings. */
const LARGE_EVENT_BYTES = TAIL_BYTES / 2

const nothing = (): void => undefined

/**
 * Relays an event stream in whole events, without decoding: every byte goes out unchanged. The output does not depend
 * on how the stream is cut, and the time is linear.
 */
export class SseRelay {
  readonly #framer: EventFramer
  readonly #reader: EventReader
  readonly #repeats: boolean
  /** The stream is incomplete without one of these members; undefined once one has occurred. */
  #members: EndMembers | undefined
  readonly #onRepeated: (data: Buffer) => void
  readonly #onLarge: (data: Buffer) => void
  #events = 0
  #content = 0
  #trailing = 0
  #ended = false
  /** Whether the stream ended in a CR: an LF may still belong to it. */
  #afterCr = false
  #whole = false
  /** Whether a member has occurred with which the stream may end. */
  #mayEnd = false
  #isGarbage = false
  #failure: Uint8Array | undefined
  #first: Uint8Array | undefined

  constructor(options: RelayOptions) {
    this.#framer = new EventFramer(options)
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
    return this.#framer.held
  }

  /** Data of the first event that reports an upstream error. */
  get failure(): Uint8Array | undefined {
    return this.#failure
  }

  /** Why output has stopped: a limit was exceeded, or an event's data cannot be JSON. */
  get fault(): 'line' | 'event' | 'json' | undefined {
    return this.#isGarbage ? 'json' : this.#framer.fault
  }

  /** The lines of the first event with data, unchanged, if they are at most 64 KiB. */
  get first(): Uint8Array | undefined {
    return this.#first
  }

  /**
   * Takes a chunk and returns the bytes that may go out now: all whole events up to the one that ends the stream, and
   * nothing from an invalid event on.
   */
  push(chunk: Buffer): Buffer | undefined {
    if (chunk.length === 0 || this.#isGarbage) return undefined
    if (this.#ended) return this.drop(chunk)
    const framer = this.#framer
    if (!framer.feed(chunk)) return undefined
    const { bytes } = framer
    while (!this.#ended && framer.next(this.#reader)) {
      this.settle(bytes, framer.start, framer.blank, framer.end)
      if (this.#isGarbage) break
    }
    const whole = this.#ended ? framer.end : framer.start
    if (this.#ended) {
      this.#trailing = bytes.length - whole
      this.#afterCr = bytes[bytes.length - 1] === CR && this.#trailing === 0
    }
    if (whole === bytes.length) return bytes
    return whole === 0 ? undefined : bytes.subarray(0, whole)
  }

  /** Records a whole event. */
  private settle(bytes: Buffer, start: number, blank: number, end: number): void {
    const reader = this.#reader
    const kind = reader.kind(bytes, start, end)
    if (kind === 'garbage') {
      this.#isGarbage = true
      return
    }
    this.#events++
    const isLast = reader.isLast
    if (isLast || kind !== 'nothing') this.#whole = isLast || this.#mayEnd
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
    this.#mayEnd = true
    this.#whole = true
  }

  /** After the last event only the LF of its CRLF may still go out. */
  private drop(chunk: Buffer): Buffer | undefined {
    const own = this.#afterCr && chunk[0] === LF ? 1 : 0
    this.#afterCr = false
    this.#trailing += chunk.length - own
    return own === 1 ? chunk.subarray(0, 1) : undefined
  }
}
