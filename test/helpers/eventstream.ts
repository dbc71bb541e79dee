import { EventStreamCodec } from '@smithy/core/event-streams'

/**
 * Streams of `application/vnd.amazon.eventstream` by the codec of that framing's own SDK. Tests write a message as an event of text,
 * `event: NAME\ndata: JSON\n\n`, so that they change and cut streams of all protocols in the same way.
 */

export const EVENTSTREAM = 'application/vnd.amazon.eventstream'

const codec = new EventStreamCodec(
  bytes => Buffer.from(bytes).toString('utf8'),
  text => Buffer.from(text),
)

/** The bytes of events that are written as text; what is between them stays as it is. */
export function messageBytes(text: string): Buffer {
  const pieces: Buffer[] = []
  let last = 0
  for (const { 0: whole, 1: name = '', 2: data = '', index } of text.matchAll(/event: (\S+)\ndata: (.*)\n\n/g)) {
    pieces.push(Buffer.from(text.slice(last, index)), message(name, data))
    last = index + whole.length
  }
  pieces.push(Buffer.from(text.slice(last)))
  return Buffer.concat(pieces)
}

function message(name: string, data: string): Buffer {
  const [kind, header] = name.endsWith('Exception') ? ['exception', ':exception-type'] : ['event', ':event-type']
  return Buffer.from(
    codec.encode({
      headers: {
        [header]: { type: 'string', value: name },
        ':content-type': { type: 'string', value: 'application/json' },
        ':message-type': { type: 'string', value: kind },
      },
      body: Buffer.from(data),
    }),
  )
}

/** What a client reads of one message. */
interface Read {
  readonly kind: string
  readonly name: string
  readonly payload: unknown
}

/** The messages of a whole stream. Throws if a checksum is wrong, or the stream ends inside a message. */
export function messagesOf(body: Buffer): readonly Read[] {
  const found: Read[] = []
  for (let at = 0; at < body.length; ) {
    const end = at + body.readUInt32BE(at)
    if (end > body.length) throw new Error('the stream ends inside a message')
    const { headers, body: payload } = codec.decode(body.subarray(at, end))
    const kind = String(headers[':message-type']?.value)
    const name = String(headers[kind === 'event' ? ':event-type' : ':exception-type']?.value)
    found.push({ kind, name, payload: JSON.parse(Buffer.from(payload).toString('utf8')) as unknown })
    at = end
  }
  return found
}
