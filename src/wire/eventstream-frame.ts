import type { Frame } from '../core/codec.js'
import { isObject, parseJson } from '../core/json.js'
import { type EventStreamMessage, encodeMessage } from './eventstream.js'

/** The name of an event that reports a failure ends so: it is sent as an exception. */
const EXCEPTION = 'Exception'

/** The event whose payload is a message of another protocol, in base64: `{"bytes": "…"}`. */
const CHUNK = 'chunk'

/** A message as a frame: events and exceptions by their names, a `chunk` as the message that it holds, with the `type` of that. */
export function frameOf({ headers, payload }: EventStreamMessage): Frame {
  const data = payload.toString('utf8')
  switch (headers.get(':message-type')) {
    case 'exception':
      return { event: headers.get(':exception-type') ?? EXCEPTION, data }
    case 'error':
      return {
        event: exceptionOf(headers.get(':error-code') ?? ''),
        data: JSON.stringify({ message: headers.get(':error-message') ?? '' }),
      }
    default: {
      const event = headers.get(':event-type') ?? ''
      return (event === CHUNK ? innerFrame(data) : undefined) ?? { event, data }
    }
  }
}

/** The name of a failure that its service does not describe, such as `InternalFailure`, as that of one that it does. */
function exceptionOf(code: string): string {
  const name = code.charAt(0).toLowerCase() + code.slice(1)
  return isException(name) ? name : name + EXCEPTION
}

function innerFrame(data: string): Frame | undefined {
  const chunk = parseJson(data)
  if (!isObject(chunk) || typeof chunk.bytes !== 'string') return undefined
  const inner = Buffer.from(chunk.bytes, 'base64').toString('utf8')
  const message = parseJson(inner)
  const type = isObject(message) && typeof message.type === 'string' ? message.type : undefined
  return { data: inner, ...(type !== undefined && { event: type }) }
}

const JSON_TYPE = [':content-type', 'application/json'] as const

/** A frame as a message. */
export function messageOf({ event = '', data }: Frame): Buffer {
  const isFailure = isException(event)
  const name = isFailure ? ':exception-type' : ':event-type'
  const kind = isFailure ? 'exception' : 'event'
  return encodeMessage([[name, event], JSON_TYPE, [':message-type', kind]], Buffer.from(data))
}

/** Whether a frame of such a stream says that the answer failed. */
export function isException(event: string | undefined): boolean {
  return event?.endsWith(EXCEPTION) ?? false
}
