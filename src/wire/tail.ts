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

  /** The last 16 KiB, or all where there is less. Copies only where more than one chunk has a part in it. */
  bytes(): Buffer {
    const chunks = this.#older.concat(this.#recent)
    const parts: Buffer[] = []
    let missing = KEPT
    for (let i = chunks.length - 1; i >= 0 && missing > 0; i--) {
      const chunk = chunks[i]
      if (chunk === undefined) continue
      parts.unshift(chunk.length > missing ? chunk.subarray(chunk.length - missing) : chunk)
      missing -= chunk.length
    }
    const [only] = parts
    return parts.length === 1 && only !== undefined ? only : Buffer.concat(parts)
  }
}
