import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import type { Faults } from '../faults/table.js'

/** The bytes of a body. The length is unknown where the body is to go out in chunks. */
interface Content {
  readonly length: number | undefined
  readonly pieces: Iterable<Uint8Array>
}

const COMPRESS = { gzip: gzipSync, deflate: deflateSync, br: brotliCompressSync } as const
const OPEN = Buffer.from('{"padding":"')
const CLOSE = Buffer.from('",')

/** The body as faults change it. */
export function contentOf(body: Buffer, faults: Faults): Content {
  const { bomb: unpacked, 'big-line': line = 0, encoding, trailers } = faults
  if (unpacked !== undefined) return { length: undefined, pieces: bomb(unpacked) }
  const plain = spoiled(body, faults)
  if (line > 0 && plain[0] === OPEN[0]) return padded(plain, line)
  const bytes = encoding === undefined ? plain : COMPRESS[encoding](plain)
  return { length: trailers ? undefined : bytes.length, pieces: [bytes] }
}

/** The first bytes of a body. */
export function* upTo(limit: number, pieces: Iterable<Uint8Array>): Generator<Uint8Array> {
  let left = limit
  for (const piece of pieces) {
    if (left <= 0) return
    yield piece.subarray(0, left)
    left -= piece.length
  }
}

function spoiled(body: Buffer, { malformed, trailing = 0 }: Faults): Buffer {
  const kept = malformed ? body.subarray(0, Math.ceil(body.length / 2)) : body
  return trailing > 0 ? Buffer.concat([kept, ...filling(trailing)]) : kept
}

/** A JSON object with one more member, of any size. */
function padded(body: Buffer, size: number): Content {
  const rest = body.subarray(1)
  return { length: OPEN.length + size + CLOSE.length + rest.length, pieces: pieces() }

  function* pieces(): Generator<Uint8Array> {
    yield OPEN
    yield* filling(size)
    yield CLOSE
    yield rest
  }
}

const BLOCK_BYTES = 65_536
const MEMBER_BYTES = 1024 * 1024

/** So many bytes of one letter, in blocks that share their memory. */
export function* filling(size: number): Generator<Uint8Array> {
  const block = Buffer.alloc(Math.min(size, BLOCK_BYTES), 'x')
  for (let left = size; left > 0; left -= block.length) yield block.subarray(0, Math.min(left, block.length))
}

/** A gzip body that unpacks to so many bytes: one small member after another (RFC 1952, section 2.2). */
function* bomb(size: number): Generator<Uint8Array> {
  const whole = gzipSync(Buffer.alloc(MEMBER_BYTES))
  for (let left = size; left >= MEMBER_BYTES; left -= MEMBER_BYTES) yield whole
  yield gzipSync(Buffer.alloc(size % MEMBER_BYTES))
}
