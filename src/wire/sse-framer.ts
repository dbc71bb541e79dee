import { COLON, CR, LF, SPACE } from '../core/ascii.js'
import { isAt, next, startsAt } from './bytes.js'
import { PendingBytes } from './pending-bytes.js'

/** Limits of an event stream, in bytes: one line without its end, and one event up to its blank line. */
export interface SseLimits {
  readonly line: number
  readonly event: number
}

/** An event stream exceeded a limit. */
export class WireLimitError extends Error {
  override readonly name = 'WireLimitError'
  readonly limit: keyof SseLimits

  constructor(limit: keyof SseLimits) {
    super(`an event stream exceeds the limit of its ${limit}`)
    this.limit = limit
  }
}

/** Takes the lines of an event, without blank lines and without their ends; `begin` comes before each event. */
export interface LineReader {
  begin(): void
  line(bytes: Buffer, start: number, end: number): void
}

/** Start of a line's value if the line is of that field; else -1. */
export function fieldValue(bytes: Buffer, start: number, end: number, field: Buffer): number {
  const colon = start + field.length
  if (colon > end || !isAt(bytes, start, colon, field)) return -1
  if (colon === end) return end
  if (bytes[colon] !== COLON) return -1
  return colon + 1 < end && bytes[colon + 1] === SPACE ? colon + 2 : colon + 1
}

const BOM = Buffer.from('\uFEFF')
const NOTHING: Buffer = Buffer.alloc(0)

/**
 * Cuts an event stream into whole events as the standard says (WHATWG HTML, 9.2.6), in chunks of any size. It decodes
 * nothing and, as long as chunks contain whole events, copies nothing. The result does not depend on how the stream is cut,
 * and the time is linear.
 *
 * Its methods are `private` and not `#`: V8 in Node 20 does not inline calls of `#` methods.
 */
export class EventFramer {
  /** Which limit an event exceeded. Nothing is read after that. */
  fault: keyof SseLimits | undefined
  /** Contains the current event, and those after it until the next call of `feed`. */
  bytes: Buffer = NOTHING
  /** Offsets of the current event, of its blank line, and behind it. Once there is none, `start` is that of the rest. */
  start = 0
  blank = 0
  end = 0
  readonly #limits: SseLimits
  /** The beginning of an incomplete event. */
  readonly #pending = new PendingBytes()
  /** Bytes of that event before its current line, and bytes of that line. */
  #before = 0
  #line = 0
  /** Whether the last chunk ended in a CR: the next LF may belong to it. */
  #afterCr = false
  #isFirst = true
  /** The next LF and the next CR: each byte is looked at once for either. */
  #lf = -1
  #cr = -1

  constructor({ line, event }: SseLimits) {
    this.#limits = { line, event }
  }

  /** Number of bytes of an incomplete event. */
  get held(): number {
    return this.#pending.length
  }

  /** Takes a chunk; false if it completes no event. */
  feed(chunk: Buffer): boolean {
    if (chunk.length === 0 || this.fault !== undefined) return false
    const from = this.#afterCr && chunk[0] === LF ? 1 : 0
    this.#afterCr = chunk[chunk.length - 1] === CR
    if (this.#pending.length === 0) {
      this.begin(chunk, from)
      return true
    }
    const mayBeBom = this.#isFirst && this.#pending.length < BOM.length
    this.#pending.append(chunk)
    const closes = mayBeBom || this.closes(chunk, from)
    this.begin(NOTHING, 0)
    if (!closes) return false
    this.begin(this.#pending.take(), 0)
    return true
  }

  /** Moves to the next whole event and reads its lines; false if there is none, or one is over a limit. */
  next(reader: LineReader): boolean {
    const bytes = this.bytes
    let start = this.end
    if (start === bytes.length) {
      this.release(start)
      return false
    }
    let line = this.#isFirst && startsAt(bytes, 0, BOM) ? BOM.length : start
    reader.begin()
    for (;;) {
      const end = this.lineEnd(line)
      this.fault = this.over(line - start, end - line)
      if (this.fault !== undefined || end === bytes.length) break
      const after = this.afterLine(end)
      if (end > line) {
        reader.line(bytes, line, end)
      } else {
        this.#isFirst = false
        if (line > start) {
          this.start = start
          this.blank = line
          this.end = after
          return true
        }
        start = after
      }
      line = after
    }
    this.release(start)
    if (this.fault === undefined) this.hold(bytes, start, line)
    return false
  }

  private begin(bytes: Buffer, from: number): void {
    this.bytes = bytes
    this.end = from
    this.#lf = -1
    this.#cr = -1
  }

  /** Between chunks no chunk is kept alive. */
  private release(start: number): void {
    this.start = start
    this.begin(NOTHING, 0)
  }

  private hold(bytes: Buffer, start: number, line: number): void {
    // Most chunks end at the end of an event.
    if (start < bytes.length) this.#pending.append(bytes.subarray(start))
    this.#before = line - start
    this.#line = bytes.length - line
  }

  /** Whether a chunk, already in `#pending`, ends the current event. */
  private closes(chunk: Buffer, from: number): boolean {
    this.begin(chunk, from)
    let start = from
    this.#before += from
    for (;;) {
      const end = this.lineEnd(start)
      const line = this.#line + end - start
      this.fault = this.over(this.#before, line)
      if (this.fault !== undefined) {
        this.#pending.take()
        return false
      }
      if (end === chunk.length) {
        this.#line = line
        return false
      }
      if (line === 0) return true
      const after = this.afterLine(end)
      this.#before += line + after - end
      this.#line = 0
      start = after
    }
  }

  /**
   * The limit that an event exceeds first, if any, with `line` bytes of a line after `before` bytes of earlier lines. Once
   * a line is over a limit, the result does not depend on how much of it has arrived.
   */
  private over(before: number, line: number): keyof SseLimits | undefined {
    const roomInEvent = this.#limits.event - before
    if (line <= this.#limits.line && line <= roomInEvent) return undefined
    return this.#limits.line <= roomInEvent ? 'line' : 'event'
  }

  /** End of the line that begins at `start`; the length of the chunk if the line does not end in it. */
  private lineEnd(start: number): number {
    if (this.#lf < start) this.#lf = next(this.bytes, LF, start)
    if (this.#cr < start) this.#cr = next(this.bytes, CR, start)
    return this.#lf < this.#cr ? this.#lf : this.#cr
  }

  /** Start of the next line. The LF after a CR may still come with the next chunk. */
  private afterLine(end: number): number {
    return this.bytes[end] === CR && this.bytes[end + 1] === LF ? end + 2 : end + 1
  }
}
