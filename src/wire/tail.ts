/** How much of the end is kept, in bytes. */
export const TAIL_BYTES = 16 * 1024
/** Room to begin with. It doubles up to twice of what is kept, so that a byte is moved up only once. */
const MIN_CAPACITY_BYTES = 1024
const NOTHING = Buffer.alloc(0)

/**
 * The end of a stream of bytes. Small chunks are copied: held by reference, each with its own memory, they would outlive
 * many a collection of the young generation.
 */
export class Tail {
  /** The last chunk, where it is as long as all that is kept; what came behind it stands in the room. */
  #large: Buffer | undefined
  #room: Buffer = NOTHING
  #length = 0
  #pushed = 0

  /** Whether earlier bytes are missing. */
  get isCut(): boolean {
    return this.#pushed > TAIL_BYTES
  }

  push(chunk: Buffer): void {
    this.#pushed += chunk.length
    if (chunk.length >= TAIL_BYTES) {
      this.#large = chunk.subarray(chunk.length - TAIL_BYTES)
      this.#length = 0
      return
    }
    if (this.#length + chunk.length > this.#room.length) this.#makeRoom(chunk.length)
    this.#room.set(chunk, this.#length)
    this.#length += chunk.length
  }

  /** The last 16 KiB, or all where there is less; good until the next `push`. */
  bytes(): Buffer {
    const missing = TAIL_BYTES - this.#length
    if (this.#large === undefined || missing <= 0) return this.#room.subarray(Math.max(0, -missing), this.#length)
    if (this.#length === 0) return this.#large
    return Buffer.concat([this.#large.subarray(-missing), this.#room.subarray(0, this.#length)])
  }

  #makeRoom(length: number): void {
    const needed = this.#length + length
    const from = needed > 2 * TAIL_BYTES ? this.#length - TAIL_BYTES : 0
    if (from > 0) this.#large = undefined
    const kept = this.#room.subarray(from, this.#length)
    const size = Math.min(2 * TAIL_BYTES, Math.max(MIN_CAPACITY_BYTES, 2 * needed))
    if (size > this.#room.length) this.#room = Buffer.allocUnsafe(size)
    this.#room.set(kept)
    this.#length = kept.length
  }
}
