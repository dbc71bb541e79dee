import { type ByteRange, MAX_PIECE_BYTES, StoreError } from '../core/store.js'

/**
 * Re-cuts the bytes of a source into pieces of {@link MAX_PIECE_BYTES} bytes (the last one may be shorter). Throws
 * {@link StoreError} `full` over `limit` bytes, and what the source throws.
 */
export async function* inChunks(source: AsyncIterable<Uint8Array>, limit: number): AsyncGenerator<Buffer> {
  let piece: Buffer | undefined
  let filled = 0
  let size = 0
  for await (const chunk of source) {
    size += chunk.length
    if (size > limit) throw new StoreError('full', `a blob is over its limit of ${limit} bytes`)
    for (let at = 0; at < chunk.length; ) {
      piece ??= Buffer.allocUnsafeSlow(MAX_PIECE_BYTES)
      const part = chunk.subarray(at, at + MAX_PIECE_BYTES - filled)
      piece.set(part, filled)
      filled += part.length
      at += part.length
      if (filled < MAX_PIECE_BYTES) continue
      yield piece
      piece = undefined
      filled = 0
    }
  }
  if (piece !== undefined) yield Buffer.from(piece.subarray(0, filled))
}

/** A part of a blob inside one piece. */
interface ChunkRange {
  /** The piece's number, from 0. */
  readonly index: number
  /** Positions in the whole blob: `from` up to and without `to`. */
  readonly from: number
  readonly to: number
}

/** The parts of pieces that make up a range of a blob of that size. */
export function* chunkRanges(size: number, { start = 0, end = size }: ByteRange): Generator<ChunkRange> {
  const last = Math.min(end, size)
  for (let from = Math.max(0, start); from < last; ) {
    const index = Math.floor(from / MAX_PIECE_BYTES)
    const to = Math.min(last, (index + 1) * MAX_PIECE_BYTES)
    yield { index, from, to }
    from = to
  }
}
