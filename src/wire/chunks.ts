import { lastNotOver } from '../core/search.js'
/** A document that arrived in chunks, addressed by absolute offsets. It keeps the chunks by reference. */
export class Chunks {
  readonly #chunks: Buffer[] = []
  readonly #starts: number[] = []
  #length = 0

  get length(): number {
    return this.#length
  }

  append(chunk: Buffer): void {
    this.#chunks.push(chunk)
    this.#starts.push(this.#length)
    this.#length += chunk.length
  }

  /** The bytes from `start` to `end`: a view if one chunk has them all, else a copy. */
  slice(start: number, end: number): Buffer {
    let index = this.#indexOf(start)
    const pieces: Buffer[] = []
    for (let from = start; from < end; index++) {
      const chunk = this.#chunks[index]
      const base = this.#starts[index]
      if (chunk === undefined || base === undefined) break
      pieces.push(chunk.subarray(from - base, end - base))
      from = base + chunk.length
    }
    const [only] = pieces
    return pieces.length === 1 && only !== undefined ? only : Buffer.concat(pieces)
  }

  /** Copies the bytes from `start` to `end` and returns their number. */
  copy(target: Buffer, at: number, start: number, end: number): number {
    let from = start
    for (let index = this.#indexOf(start); from < end; index++) {
      const chunk = this.#chunks[index]
      const base = this.#starts[index]
      if (chunk === undefined || base === undefined) break
      from += chunk.copy(target, at + from - start, from - base, end - base)
    }
    return from - start
  }

  /** The whole document as text; invalid UTF-8 becomes U+FFFD. */
  toString(): string {
    return this.slice(0, this.#length).toString('utf8')
  }

  /** Index of the chunk that contains the byte at `offset`. */
  #indexOf(offset: number): number {
    return lastNotOver(this.#starts, offset)
  }
}
