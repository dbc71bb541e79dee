import { gzipSync } from 'node:zlib'

const BLOCK = 65_536
const MEMBER = 1024 * 1024

/** So many bytes of one letter, in blocks that share their memory. */
export function* filling(size: number): Generator<Uint8Array> {
  const block = Buffer.alloc(Math.min(size, BLOCK), 'x')
  for (let left = size; left > 0; left -= block.length) yield block.subarray(0, Math.min(left, block.length))
}

/** A gzip body that unpacks to so many bytes: one small member after another (RFC 1952, section 2.2). */
export function* bomb(size: number): Generator<Uint8Array> {
  const whole = gzipSync(Buffer.alloc(MEMBER))
  for (let left = size; left >= MEMBER; left -= MEMBER) yield whole
  yield gzipSync(Buffer.alloc(size % MEMBER))
}
