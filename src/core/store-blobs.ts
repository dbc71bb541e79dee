import type { Place } from './store-place.js'

/**
 * Bytes by reference, of any size, written and read in pieces and never whole in memory. A blob is there when all of it
 * is, and a later one of the same place takes its place at once; who reads the former one reads it to its end or gets an
 * error, and never a mixture.
 */
export interface Blobs {
  /**
   * Resolves with the size. Over `limit` it throws {@link StoreError} `full`; where the source fails, its own error goes
   * through. Nothing stays of either.
   */
  put(place: Place, pieces: AsyncIterable<Uint8Array>, keep: Keep): Promise<number>
  /** Undefined where there is none, or it has expired. Pieces are at most {@link MAX_PIECE_BYTES} bytes long. */
  get(place: Place, range?: ByteRange): Promise<StoredBlob | undefined>
  /** False where there is none. */
  delete(place: Place): Promise<boolean>
}

export interface Keep {
  /** Milliseconds since the epoch. */
  readonly expires: number
  /** Bytes. */
  readonly limit: number
}

/** Bytes from `start` up to and without `end`; absent: from the first, to the last. Both are cut to what is there. */
export interface ByteRange {
  readonly start?: number
  readonly end?: number
}

export interface StoredBlob {
  /** Of all of it, whatever range was asked for. */
  readonly size: number
  readonly expires: number
  readonly pieces: AsyncIterable<Uint8Array>
}

/** Largest piece that is kept or read at once, bytes. */
export const MAX_PIECE_BYTES = 256 * 1024
