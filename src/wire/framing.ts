import type { Frame } from '../core/codec.js'
import type { Framing } from '../core/route-settings.js'
import { encodeSse } from './sse.js'

const CONTENT_TYPES: Readonly<Record<Framing, string>> = {
  sse: 'text/event-stream; charset=utf-8',
  'sse-crlf': 'text/event-stream',
  ndjson: 'application/x-ndjson',
  array: 'application/json; charset=UTF-8',
}

/** `content-type` of a stream with this framing. */
export function contentType(framing: Framing): string {
  return CONTENT_TYPES[framing]
}

const BREAK = /[\r\n]/

/**
 * One message as text. The two JSON framings cannot carry an event name. `isFirst` opens the array; a stream with that
 * framing and at least one message ends with {@link closing}.
 */
export function encodeFrame(framing: Framing, frame: Frame, isFirst: boolean): string {
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

/** Text after the last message of a stream. */
export function closing(framing: Framing): string {
  return framing === 'array' ? '\n]' : ''
}

/** In a JSON document raw line breaks occur only between tokens, where a space means the same. */
function oneLine(document: string): string {
  return BREAK.test(document) ? document.replace(/[\r\n]+/g, ' ') : document
}
