/** Bytes kept of the end. */
export const TAIL_BYTES = 16 * 1024
/** Initial capacity. It doubles up to twice the kept size, so that a byte is moved only once. */
const MIN_CAPACITY_BYTES = 1024
const NOTHING = Buffer.alloc(0)

/**
 * Keeps the end of a byte stream. It copies small chunks: references would keep each chunk's memory alive through many
 * young-generation collections.
 */
export class Tail {
  /** The last chunk if it is as long as all that is kept; later bytes are in the buffer. */
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

  /** The last 16 KiB, or everything if shorter; valid until the next `push`. */
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
