import { crc32 } from 'node:zlib'
import { asBuffer } from './bytes.js'
import { PendingBytes } from './pending-bytes.js'
import { WireLimitError } from './sse-framer.js'

/**
 * Messages of `application/vnd.amazon.eventstream`. A message is a prelude of 12 bytes (its length, the length of its headers, the
 * CRC-32 of these 8 bytes), headers, a payload, and the CRC-32 of all that. Numbers are big-endian.
 * https://smithy.io/2.0/aws/amazon-eventstream.html
 */
export interface EventStreamMessage {
  /** Those whose value is a text; the protocols have no others. */
  readonly headers: ReadonlyMap<string, string>
  readonly payload: Buffer
}

export const EVENTSTREAM_TYPE = 'application/vnd.amazon.eventstream'

const PRELUDE_BYTES = 12
const CRC_BYTES = 4
const LEAST_MESSAGE_BYTES = PRELUDE_BYTES + CRC_BYTES
/** By the specification. */
const MAX_HEADERS_BYTES = 128 * 1024
const TEXT_TYPE = 7

/** Lengths of values by their type: true, false, byte, short, integer, long; bytes and text say theirs; timestamp, UUID. */
const VALUE_BYTES: readonly (number | undefined)[] = [0, 0, 1, 2, 4, 8, undefined, undefined, 8, 16]

/** The bytes are not a message: a checksum is wrong, or lengths contradict each other. */
export class EventStreamError extends Error {
  override readonly name = 'EventStreamError'
}

/** Cuts such a stream into messages. Chunks may be cut anywhere; the time is linear. */
export class EventStreamDecoder {
  readonly #limit: number
  /** The part of the current message in earlier chunks. */
  readonly #pending = new PendingBytes()
  /** Length of the current message once its prelude is there; 0 before. */
  #length = 0
  #fault: Error | undefined

  /** `event`: most bytes of one message. */
  constructor({ event }: { readonly event: number }) {
    this.#limit = event
  }

  /**
   * The messages that this chunk completes. Throws `EventStreamError`, or `WireLimitError` for one that is too long; whole messages
   * before that are returned, and the next call throws.
   */
  push(chunk: Uint8Array): readonly EventStreamMessage[] {
    if (this.#fault !== undefined) throw this.#fault
    const messages: EventStreamMessage[] = []
    let bytes = asBuffer(chunk)
    try {
      while (bytes.length > 0) {
        const wanted = (this.#length === 0 ? PRELUDE_BYTES : this.#length) - this.#pending.length
        this.#pending.append(bytes.subarray(0, wanted))
        const isThere = bytes.length >= wanted
        bytes = bytes.subarray(wanted)
        if (!isThere) break
        if (this.#length === 0) this.#begin()
        else messages.push(this.#finish())
      }
    } catch (cause) {
      this.#fault = cause as Error
      if (messages.length === 0) throw cause
    }
    return messages
  }

  /** Ends the stream; `cut` if that is inside a message. */
  end(): 'whole' | 'cut' {
    if (this.#fault !== undefined) throw this.#fault
    return this.#pending.length === 0 ? 'whole' : 'cut'
  }

  /** The prelude is there. It is checked before its length is believed. */
  #begin(): void {
    const prelude = this.#pending.take()
    if (crc32(prelude.subarray(0, 8)) !== prelude.readUInt32BE(8)) {
      throw new EventStreamError('the checksum of a prelude is wrong')
    }
    const [length, headers] = [prelude.readUInt32BE(0), prelude.readUInt32BE(4)]
    if (length < LEAST_MESSAGE_BYTES + headers || headers > MAX_HEADERS_BYTES) {
      throw new EventStreamError('the lengths of a message contradict each other')
    }
    if (length > this.#limit) throw new WireLimitError('event')
    this.#length = length
    this.#pending.append(prelude)
  }

  #finish(): EventStreamMessage {
    this.#length = 0
    const bytes = this.#pending.take()
    const end = bytes.length - CRC_BYTES
    if (crc32(bytes.subarray(0, end)) !== bytes.readUInt32BE(end)) {
      throw new EventStreamError('the checksum of a message is wrong')
    }
    const payload = PRELUDE_BYTES + bytes.readUInt32BE(4)
    return { headers: readHeaders(bytes.subarray(PRELUDE_BYTES, payload)), payload: bytes.subarray(payload, end) }
  }
}

/** Each is the length of its name (a byte), the name, the type of its value (a byte), the value. */
function readHeaders(bytes: Buffer): ReadonlyMap<string, string> {
  const headers = new Map<string, string>()
  for (let at = 0; at < bytes.length; ) {
    const typeAt = at + 1 + (bytes[at] ?? 0)
    const type = bytes[typeAt] ?? VALUE_BYTES.length
    if (type >= VALUE_BYTES.length) throw new EventStreamError('a header has an unknown type')
    const fixed = VALUE_BYTES[type]
    const valueAt = typeAt + (fixed === undefined ? 3 : 1)
    if (valueAt > bytes.length) throw new EventStreamError('a header is cut')
    const end = valueAt + (fixed ?? bytes.readUInt16BE(typeAt + 1))
    if (end > bytes.length) throw new EventStreamError('a header is cut')
    if (type === TEXT_TYPE) headers.set(bytes.toString('utf8', at + 1, typeAt), bytes.toString('utf8', valueAt, end))
    at = end
  }
  return headers
}

/** A message with these headers, all of them texts: names of at most 255 bytes, values of at most 65,535. */
export function encodeMessage(headers: readonly (readonly [name: string, value: string])[], payload: Buffer): Buffer {
  const sizes = headers.map(([name, value]) => Buffer.byteLength(name) + Buffer.byteLength(value) + 4)
  const headersLength = sizes.reduce((sum, size) => sum + size, 0)
  const bytes = Buffer.allocUnsafe(LEAST_MESSAGE_BYTES + headersLength + payload.length)
  bytes.writeUInt32BE(bytes.length, 0)
  bytes.writeUInt32BE(headersLength, 4)
  bytes.writeUInt32BE(crc32(bytes.subarray(0, 8)), 8)
  let at = PRELUDE_BYTES
  for (const [name, value] of headers) {
    at = bytes.writeUInt8(Buffer.byteLength(name), at)
    at += bytes.write(name, at)
    at = bytes.writeUInt8(TEXT_TYPE, at)
    at = bytes.writeUInt16BE(Buffer.byteLength(value), at)
    at += bytes.write(value, at)
  }
  at += payload.copy(bytes, at)
  bytes.writeUInt32BE(crc32(bytes.subarray(0, at)), at)
  return bytes
}
