import type { Frame } from '../core/codec.js'
import type { Framing } from '../core/route-settings.js'
import { EVENTSTREAM_TYPE } from './eventstream.js'
import { messageOf } from './eventstream-frame.js'
import { encodeSse } from './sse.js'

const CONTENT_TYPES: Readonly<Record<Framing, string>> = {
  sse: 'text/event-stream; charset=utf-8',
  'sse-crlf': 'text/event-stream',
  ndjson: 'application/x-ndjson',
  array: 'application/json; charset=UTF-8',
  'aws-eventstream': EVENTSTREAM_TYPE,
}

/** `content-type` of a stream with this framing. */
export function contentType(framing: Framing): string {
  return CONTENT_TYPES[framing]
}

const NOTHING = Buffer.alloc(0)

/** Collects the messages of a stream in one framing, as bytes. */
export class FrameWriter {
  readonly #framing: Framing
  #text = ''
  #binary: Buffer[] = []
  /** The next message is the first. */
  #first = true

  constructor(framing: Framing) {
    this.#framing = framing
  }

  get isEmpty(): boolean {
    return this.#text === '' && this.#binary.length === 0
  }

  add(frame: Frame): void {
    if (this.#framing === 'aws-eventstream') this.#binary.push(messageOf(frame))
    else this.#text += encodeFrame(this.#framing, frame, this.#first)
    this.#first = false
  }

  /** What closes the stream: an array that was opened. */
  close(): void {
    if (this.#framing === 'array') this.#text += '\n]'
  }

  /** The bytes since the last call. */
  take(): Buffer {
    if (this.isEmpty) return NOTHING
    const bytes = this.#framing === 'aws-eventstream' ? Buffer.concat(this.#binary) : Buffer.from(this.#text)
    this.#text = ''
    this.#binary = []
    return bytes
  }
}

const BREAK = /[\r\n]/

/** One message as text. The two JSON framings cannot carry an event name. `isFirst` opens the array. */
function encodeFrame(framing: Exclude<Framing, 'aws-eventstream'>, frame: Frame, isFirst: boolean): string {
  switch (framing) {
    case 'sse':
      if (BREAK.test(frame.data)) return encodeSse(frame)
      return frame.event === undefined ? `data: ${frame.data}\n\n` : `event: ${frame.event}\ndata: ${frame.data}\n\n`
    case 'sse-crlf':
      if (frame.event === undefined && !BREAK.test(frame.data)) return `data: ${frame.data}\r\n\r\n`
      return encodeSse(frame).replaceAll('\n', '\r\n')
    case 'ndjson':
      return `${oneLine(frame.data)}\n`
    case 'array':
      return isFirst ? `[${frame.data}` : `\n,\r\n${frame.data}`
  }
}

/** In a JSON document raw line breaks occur only between tokens, where a space means the same. */
function oneLine(document: string): string {
  return BREAK.test(document) ? document.replace(/[\r\n]+/g, ' ') : document
}
