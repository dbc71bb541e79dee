import {
  type Blobs,
  type ByteRange,
  checkPlace,
  isPlace,
  type Keep,
  MAX_PIECE_BYTES,
  type Place,
  type StoredBlob,
  StoreError,
} from '../core/store.js'
import { chunkRanges, inChunks } from './chunks.js'

interface MemoryBlob {
  readonly pieces: readonly Buffer[]
  readonly size: number
  readonly expires: number
}

/** Blobs of this process; where they are as many as may be, a further one is refused. */
export class MemoryBlobs implements Blobs {
  readonly #blobs = new Map<string, MemoryBlob>()
  readonly #maxBytes: number
  readonly #now: () => number
  readonly #check: () => void
  #bytes = 0

  constructor(maxBytes: number, now: () => number, check: () => void) {
    this.#maxBytes = maxBytes
    this.#now = now
    this.#check = check
  }

  /** Bytes, those of blobs that are being written included. */
  get bytes(): number {
    return this.#bytes
  }

  async put(place: Place, source: AsyncIterable<Uint8Array>, { expires, limit }: Keep): Promise<number> {
    this.#check()
    checkPlace(place)
    const pieces: Buffer[] = []
    let size = 0
    try {
      for await (const piece of inChunks(source, limit)) {
        if (this.#bytes + piece.length > this.#maxBytes)
          throw new StoreError('full', 'the memory store is full of blobs')
        this.#bytes += piece.length
        size += piece.length
        pieces.push(piece)
      }
      this.#check()
    } catch (error) {
      this.#bytes -= size
      throw error
    }
    this.remove(addressOf(place))
    this.#blobs.set(addressOf(place), { pieces, size, expires })
    return size
  }

  async get(place: Place, range: ByteRange = {}): Promise<StoredBlob | undefined> {
    this.#check()
    const held = isPlace(place) ? this.#blobs.get(addressOf(place)) : undefined
    if (held === undefined || held.expires <= this.#now()) return undefined
    return { size: held.size, expires: held.expires, pieces: read(held, range) }
  }

  async delete(place: Place): Promise<boolean> {
    this.#check()
    const held = this.#blobs.get(addressOf(place))
    this.remove(addressOf(place))
    return held !== undefined && held.expires > this.#now()
  }

  sweep(now: number, limit: number): number {
    let taken = 0
    for (const [address, { expires }] of this.#blobs) {
      if (taken >= limit) break
      if (expires > now) continue
      this.remove(address)
      taken++
    }
    return taken
  }

  clear(): void {
    this.#blobs.clear()
    this.#bytes = 0
  }

  private remove(address: string): void {
    this.#bytes -= this.#blobs.get(address)?.size ?? 0
    this.#blobs.delete(address)
  }
}

async function* read({ pieces, size }: MemoryBlob, range: ByteRange): AsyncGenerator<Buffer> {
  for (const { index, from, to } of chunkRanges(size, range)) {
    const piece = pieces[index]
    if (piece !== undefined) yield piece.subarray(from - index * MAX_PIECE_BYTES, to - index * MAX_PIECE_BYTES)
  }
}

function addressOf({ namespace, owner, key }: Place): string {
  return `${namespace} ${owner} ${key}`
}
