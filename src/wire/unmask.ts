/** Bytes that are unmasked at a time. */
const SIZE = 64 * 1024

/** One for all: what stands in it is read at once. */
const plain = Buffer.from(new ArrayBuffer(SIZE))
const words = new Uint32Array(plain.buffer)
/** To turn the four bytes of a key into a number in this machine's order. */
const order = Buffer.from(new ArrayBuffer(4))
const asWord = new Uint32Array(order.buffer)

/** Takes the mask off the payload of client frames (RFC 6455 §5.3): four bytes at a time, in a place of its own. */
export class Unmasker {
  /** The key as it stands for the next byte of the payload. */
  readonly #key = Buffer.alloc(4)

  /** What was unmasked last. */
  get plain(): Buffer {
    return plain
  }

  /** A frame begins whose key stands at `at`. */
  key(bytes: Buffer, at: number): void {
    bytes.copy(this.#key, 0, at, at + 4)
  }

  /** Unmasks the next bytes of the payload into `plain`; how many, 64 KiB at most. */
  unmask(bytes: Buffer, start: number, end: number): number {
    const length = Math.min(end - start, SIZE)
    const key = this.#key
    key.copy(order)
    const word = asWord[0] ?? 0
    bytes.copy(plain, 0, start, start + length)
    const count = (length + 3) >> 2
    for (let index = 0; index < count; index++) words[index] = (words[index] ?? 0) ^ word
    const turned = length & 3
    for (let index = 0; turned !== 0 && index < 4; index++) key[index] = order[(index + turned) & 3] ?? 0
    return length
  }
}
