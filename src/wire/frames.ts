import { randomBytes } from 'node:crypto'
import { CLOSE, PING, TEXT } from './frame-reader.js'

/** Builds frames that the gateway itself sends (RFC 6455 §5.2). `masked`: to a server, which requires masked frames. */

/** Max bytes of a close frame's reason: 125, less two for the code. */
const MAX_REASON_BYTES = 123

export function closeFrame(code: number, reason: string, masked: boolean): Buffer {
  const words = Buffer.from(reason)
  const text = words.length <= MAX_REASON_BYTES ? words : Buffer.from(reason.slice(0, MAX_REASON_BYTES / 4))
  const payload = Buffer.alloc(2 + text.length)
  payload.writeUInt16BE(code)
  text.copy(payload, 2)
  return frame(CLOSE, payload, masked)
}

export function pingFrame(masked: boolean): Buffer {
  return frame(PING, Buffer.alloc(0), masked)
}

export function textFrame(text: string, masked: boolean): Buffer {
  return frame(TEXT, Buffer.from(text), masked)
}

/** Bytes of a head at most, unmasked. */
const MAX_HEAD_BYTES = 10

/** Text messages to a client, each a frame. */
export function textFrames(texts: readonly string[]): Buffer {
  let size = 0
  for (const text of texts) size += MAX_HEAD_BYTES + Buffer.byteLength(text)
  const frames = Buffer.allocUnsafe(size)
  let at = 0
  for (const text of texts) at = writeText(frames, text, at)
  return frames.subarray(0, at)
}

/** Gives where the frame ends. */
function writeText(frames: Buffer, text: string, at: number): number {
  const length = Buffer.byteLength(text)
  frames[at++] = 0x80 | TEXT
  if (length < 126) {
    frames[at++] = length
  } else if (length < 0x10000) {
    frames[at++] = 126
    at = frames.writeUInt16BE(length, at)
  } else {
    frames[at++] = 127
    at = frames.writeUIntBE(0, at, 2)
    at = frames.writeUIntBE(length, at, 6)
  }
  return at + frames.write(text, at)
}

/** One complete frame; its payload is under 64 KiB. @testonly */
export function frame(opcode: number, payload: Buffer, masked: boolean): Buffer {
  const extended = payload.length > 125
  const head = Buffer.alloc(2 + (extended ? 2 : 0))
  head[0] = 0x80 | opcode
  head[1] = (masked ? 0x80 : 0) | (extended ? 126 : payload.length)
  if (extended) head.writeUInt16BE(payload.length, 2)
  if (!masked) return Buffer.concat([head, payload])
  const key = randomBytes(4)
  return Buffer.concat([head, key, payload.map((byte, index) => byte ^ (key[index & 3] ?? 0))])
}
