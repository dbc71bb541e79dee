import type { Frame as Message } from '../core/codec.js'
import { asBuffer } from './bytes.js'
import { EventFramer, fieldValue, type LineReader, type SseLimits, WireLimitError } from './sse-framer.js'

export { WireLimitError } from './sse-framer.js'

/** One event, with the name and id that it carries itself. */
interface Frame extends Message {
  readonly id?: string
}

const DATA = Buffer.from('data')
const EVENT = Buffer.from('event')
const ID = Buffer.from('id')

/**
 * Parses an event stream in chunks of any size, in linear time. It skips comments, `retry` and unknown fields, and events
 * without data or without their final blank line.
 */
export class SseDecoder {
  readonly #framer: EventFramer
  readonly #fields = new Fields()

  constructor(limits: SseLimits) {
    this.#framer = new EventFramer(limits)
  }

  /**
   * Returns the events that this chunk completes. Throws `WireLimitError` if a line or an event is too long; if the chunk
   * has whole events before that, it returns them, and the next call throws.
   */
  push(chunk: Uint8Array): readonly Frame[] {
    const framer = this.#framer
    const frames: Frame[] = []
    if (framer.feed(asBuffer(chunk))) {
      while (framer.next(this.#fields)) {
        const frame = this.#fields.frame()
        if (frame !== undefined) frames.push(frame)
      }
    }
    if (framer.fault !== undefined && frames.length === 0) throw new WireLimitError(framer.fault)
    return frames
  }
}

/** The fields of one event. */
class Fields implements LineReader {
  #data: string | undefined
  #event = ''
  #id: string | undefined

  begin(): void {
    this.#data = undefined
    this.#event = ''
    this.#id = undefined
  }

  line(bytes: Buffer, start: number, end: number): void {
    let value = fieldValue(bytes, start, end, DATA)
    if (value >= 0) {
      const text = bytes.toString('utf8', value, end)
      this.#data = this.#data === undefined ? text : `${this.#data}\n${text}`
      return
    }
    value = fieldValue(bytes, start, end, EVENT)
    if (value >= 0) {
      this.#event = bytes.toString('utf8', value, end)
      return
    }
    value = fieldValue(bytes, start, end, ID)
    if (value >= 0 && !bytes.subarray(value, end).includes(0)) this.#id = bytes.toString('utf8', value, end)
  }

  /** The event; undefined if it has no data. */
  frame(): Frame | undefined {
    if (this.#data === undefined) return undefined
    const frame: { event?: string; data: string; id?: string } = { data: this.#data }
    if (this.#event !== '') frame.event = this.#event
    if (this.#id !== undefined) frame.id = this.#id
    return frame
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
