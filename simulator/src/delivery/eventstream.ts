import { crc32 } from 'node:zlib'
import type { StreamEvent } from '../protocol.js'

const TEXT = 7
/** A prelude of 12 bytes, and a checksum behind all. */
const FRAME_BYTES = 16

/** An event as a message of `application/vnd.amazon.eventstream`; one whose name ends in `Exception` is an exception. */
export function message({ event = '', data }: StreamEvent): Buffer {
  const kind = event.endsWith('Exception') ? 'exception' : 'event'
  const headers = Buffer.concat([
    header(`:${kind}-type`, event),
    header(':content-type', 'application/json'),
    header(':message-type', kind),
  ])
  const payload = Buffer.from(data)
  const prelude = numbers(FRAME_BYTES + headers.length + payload.length, headers.length)
  const checked = Buffer.concat([prelude, numbers(crc32(prelude)), headers, payload])
  return Buffer.concat([checked, numbers(crc32(checked))])
}

function header(name: string, value: string): Buffer {
  const bytes = Buffer.from(value)
  return Buffer.concat([
    Buffer.from([name.length]),
    Buffer.from(name),
    Buffer.from([TEXT, bytes.length >> 8, bytes.length & 0xff]),
    bytes,
  ])
}

function numbers(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(4 * values.length)
  for (const [index, value] of values.entries()) bytes.writeUInt32BE(value, 4 * index)
  return bytes
}
