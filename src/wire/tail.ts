/** How much of the end is kept, in bytes. */
const KEPT = 16 * 1024

/** The end of a stream of bytes. Holds chunks by reference, and drops them again once 16 KiB have come behind them. */
export class Tail {
  #older: Buffer[] = []
  #recent: Buffer[] = []
  #length = 0

  push(chunk: Buffer): void {
    this.#recent.push(chunk)
    this.#length += chunk.length
    if (this.#length < KEPT) return
    this.#older = this.#recent
    this.#recent = []
    this.#length = 0
  }

  /** The last 16 KiB, or all where there is less. */
  bytes(): Buffer {
    const [only] = this.#recent
    const bytes =
      this.#older.length === 0 && this.#recent.length === 1 && only !== undefined
        ? only
        : Buffer.concat([...this.#older, ...this.#recent])
    return bytes.subarray(Math.max(0, bytes.length - KEPT))
  }
}
