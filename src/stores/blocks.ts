import { madeBuffers } from '../core/dead-buffers.js'

const MIN_BLOCK_BYTES = 1024
/** Largest block, bytes. */
export const BLOCK_BYTES = 64 * 1024

/**
 * Bytes in memory that are only ever added to. They are copied, so that they cost memory for themselves and not for the
 * chunks that they came in; what has been read stays as it was.
 */
export class Blocks {
  #blocks: Buffer[] = []
  /** Bytes in the last block. */
  #filled = 0
  #length = 0
  #room = 0

  get length(): number {
    return this.#length
  }

  /** Memory that is allocated, bytes. */
  get room(): number {
    return this.#room
  }

  append(chunk: Uint8Array): void {
    for (let at = 0; at < chunk.length; ) {
      let last = this.#blocks.at(-1)
      if (last === undefined || this.#filled === last.length) {
        last = Buffer.allocUnsafeSlow(Math.min(BLOCK_BYTES, Math.max(MIN_BLOCK_BYTES, this.#length, chunk.length - at)))
        madeBuffers(last.length)
        this.#blocks.push(last)
        this.#room += last.length
        this.#filled = 0
      }
      const piece = chunk.subarray(at, at + last.length - this.#filled)
      last.set(piece, this.#filled)
      this.#filled += piece.length
      this.#length += piece.length
      at += piece.length
    }
  }

  /** Some of the bytes from `start` on, up to `end`; empty only where there are none. */
  read(start: number, end: number): Buffer {
    let base = 0
    for (const block of this.#blocks) {
      if (start < base + block.length) return block.subarray(start - base, Math.min(end, this.#length) - base)
      base += block.length
    }
    return Buffer.alloc(0)
  }

  clear(): void {
    this.#blocks = []
    this.#filled = 0
    this.#length = 0
    this.#room = 0
  }
}
