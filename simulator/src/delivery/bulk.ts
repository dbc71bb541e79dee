import { gzipSync } from 'node:zlib'

const BLOCK_BYTES = 65_536
const MEMBER_BYTES = 1024 * 1024

/** So many bytes of one letter, in blocks that share their memory. */
export function* filling(size: number): Generator<Uint8Array> {
  const block = Buffer.alloc(Math.min(size, BLOCK_BYTES), 'x')
  for (let left = size; left > 0; left -= block.length) yield block.subarray(0, Math.min(left, block.length))
}

/** A gzip body that unpacks to so many bytes: one small member after another (RFC 1952, section 2.2). */
export function* bomb(size: number): Generator<Uint8Array> {
  const whole = gzipSync(Buffer.alloc(MEMBER_BYTES))
  for (let left = size; left >= MEMBER_BYTES; left -= MEMBER_BYTES) yield whole
  yield gzipSync(Buffer.alloc(size % MEMBER_BYTES))
}
