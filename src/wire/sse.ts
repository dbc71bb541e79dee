import { CR, LF } from '../core/ascii.js'
import { asBuffer } from './bytes.js'
import { Lines } from './lines.js'
import { PendingBytes } from './pending-bytes.js'
import { overLimit, type SseLimits, WireLimitError } from './sse-limits.js'

export { type SseLimits, WireLimitError } from './sse-limits.js'

/** One event, with the name and id that it carries itself. */
export interface Frame {
  readonly event?: string
  readonly data: string
  readonly id?: string
}

const BOM = '\uFEFF'

/**
 * Parses an event stream (WHATWG HTML, 9.2.6) in chunks of any size, in linear time. It skips comments, `retry` and unknown
 * fields, and events without data or without their final blank line.
 */
export class SseDecoder {
  readonly #limits: SseLimits
  /** The part of the current line in earlier chunks. */
  readonly #pending = new PendingBytes()
  #isFirstLine = true
  #afterCr = false
  /** Bytes of the current event before its current line. */
  #before = 0
  #data: string[] = []
  #event = ''
  #id: string | undefined
  #over: WireLimitError | undefined

  constructor(limits: SseLimits) {
    this.#limits = limits
  }

  /**
   * Returns the events that this chunk completes. Throws `WireLimitError` if a line or an event is too long; if the chunk
   * has whole events before that, it returns them, and the next call throws.
   */
  push(chunk: Uint8Array): readonly Frame[] {
    if (this.#over !== undefined) throw this.#over
    if (chunk.length === 0) return []
    const bytes = asBuffer(chunk)
    const lines = new Lines(bytes)
    const frames: Frame[] = []
    let start = this.#skipLf(bytes)
    for (;;) {
      const end = lines.end(start)
      const length = this.#pending.length + end - start
      const over = overLimit(this.#limits, this.#before, length)
      if (over !== undefined) {
        this.#over = new WireLimitError(over)
        if (frames.length === 0) throw this.#over
        return frames
      }
      if (end === bytes.length) {
        this.#pending.append(bytes.subarray(start))
        return frames
      }
      const next = lines.after(end)
      this.#before += length + next - end
      const frame = this.#line(this.#text(bytes, start, end))
      if (frame !== undefined) frames.push(frame)
      start = next
    }
  }

  /** Ends the stream. The rest of an incomplete event is dropped, as the standard says. */
  end(): readonly Frame[] {
    if (this.#over !== undefined) throw this.#over
    this.#pending.take()
    this.#reset()
    return []
  }

  /** An LF at the start of a chunk may be the second half of the last chunk's CRLF. */
  #skipLf(bytes: Buffer): number {
    const isSecondHalf = this.#afterCr && bytes[0] === LF
    this.#afterCr = bytes[bytes.length - 1] === CR
    if (!isSecondHalf) return 0
    if (this.#before > 0) this.#before++
    return 1
  }

  #text(bytes: Buffer, start: number, end: number): string {
    if (this.#pending.length === 0) return bytes.toString('utf8', start, end)
    this.#pending.append(bytes.subarray(start, end))
    return this.#pending.take().toString('utf8')
  }

  #line(text: string): Frame | undefined {
    const line = this.#isFirstLine && text.startsWith(BOM) ? text.slice(BOM.length) : text
    this.#isFirstLine = false
    if (line === '') return this.#dispatch()
    const colon = line.indexOf(':')
    if (colon === 0) return undefined
    if (colon < 0) this.#field(line, '')
    else this.#field(line.slice(0, colon), line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1))
    return undefined
  }

  #field(name: string, value: string): void {
    if (name === 'data') this.#data.push(value)
    else if (name === 'event') this.#event = value
    else if (name === 'id' && !value.includes('\0')) this.#id = value
  }

  #dispatch(): Frame | undefined {
    const frame: { event?: string; data: string; id?: string } = { data: this.#data.join('\n') }
    if (this.#event !== '') frame.event = this.#event
    if (this.#id !== undefined) frame.id = this.#id
    const isEvent = this.#data.length > 0
    this.#reset()
    return isEvent ? frame : undefined
  }

  #reset(): void {
    this.#before = 0
    this.#data = []
    this.#event = ''
    this.#id = undefined
  }
}

/**
 * Writes an event as text. Line breaks in the data start new lines, which are all read back as LF. Those in a name or id,
 * and a NUL in an id, cannot be written and are dropped.
 */
export function encodeSse({ event, id, data }: Frame): string {
  let text = ''
  if (event !== undefined) text += `event: ${event.replace(/[\r\n]/g, '')}\n`
  if (id !== undefined) text += `id: ${id.replace(/[\r\n\0]/g, '')}\n`
  return `${text}data: ${data.replace(/\r\n|\r|\n/g, '\ndata: ')}\n\n`
}

/** Parses the events of a complete body, without limits. */
export function decodeSse(bytes: Uint8Array): readonly Frame[] {
  const limit = bytes.length + 1
  return new SseDecoder({ line: limit, event: limit }).push(bytes)
}
