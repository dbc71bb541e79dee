const NOTHING = Buffer.alloc(0)
const MIN_CAPACITY_BYTES = 512

/**
 * Bytes of something incomplete. They are copied, so that a trickle of tiny chunks costs memory for its bytes and not
 * for its chunks; the room doubles, so that appending takes linear time in all.
 */
export class PendingBytes {
  #room: Buffer = NOTHING
  #length = 0

  get length(): number {
    return this.#length
  }

  append(chunk: Uint8Array): void {
    const length = this.#length + chunk.length
    if (length > this.#room.length) {
      const room = Buffer.allocUnsafe(Math.max(length, 2 * this.#length, MIN_CAPACITY_BYTES))
      this.#room.copy(room, 0, 0, this.#length)
      this.#room = room
    }
    this.#room.set(chunk, this.#length)
    this.#length = length
  }

  /** Hands the bytes over, without copying, and holds nothing any more. */
  take(): Buffer {
    const bytes = this.#room.subarray(0, this.#length)
    this.#room = NOTHING
    this.#length = 0
    return bytes
  }
}
