const NOTHING = Buffer.alloc(0)
const MIN_CAPACITY_BYTES = 512

/**
 * Collects the bytes of something incomplete. It copies them, so that many tiny chunks cost memory for their bytes only,
 * not for each chunk. The buffer doubles when full, so appending takes linear time in total.
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

  /** Returns the bytes without copying and empties this buffer. */
  take(): Buffer {
    const bytes = this.#room.subarray(0, this.#length)
    this.#room = NOTHING
    this.#length = 0
    return bytes
  }
}
