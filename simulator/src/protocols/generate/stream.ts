import { native } from '../../families/native.js'
import type { EventStream, Headers, StreamEvent } from '../../protocol.js'

/** `alt=sse`: events that end with CRLF, and nothing to mark the end of the stream. */
export function eventStream(chunks: Iterable<Chunk>, requestId: string): EventStream {
  return {
    kind: 'events',
    headers: { 'content-type': 'text/event-stream' },
    writing: 'crlf',
    events: written(),
    failure: error => [{ data: JSON.stringify(native.body(error, requestId)) }],
  }

  function* written(): Generator<StreamEvent> {
    for (const { document, last } of chunks) yield event(JSON.stringify(document), last)
  }
}

interface Chunk {
  readonly document: object
  readonly last: boolean
}

export const JSON_HEADERS: Headers = { 'content-type': 'application/json; charset=UTF-8' }

/** Otherwise: one JSON array, sent element by element. */
export function arrayStream(chunks: Iterable<Chunk>, requestId: string): EventStream {
  let begun = false
  return {
    kind: 'events',
    headers: JSON_HEADERS,
    writing: 'bare',
    events: written(),
    failure: error => [event(element(native.body(error, requestId)), false), event(']', true)],
  }

  function* written(): Generator<StreamEvent> {
    for (const { document, last } of chunks) yield event(element(document), last)
    yield event(']', true)
  }

  function element(document: object): string {
    const separator = begun ? ',\r\n' : '['
    begun = true
    return `${separator}${JSON.stringify(document, undefined, 2)}\n`
  }
}

function event(data: string, last: boolean): StreamEvent {
  return last ? { data, terminal: true } : { data }
}
