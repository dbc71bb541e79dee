import { SLAB_BYTES, slab, xor } from './slab.js'

/** Takes the mask off the payload of client frames (RFC 6455 §5.3), in a place of its own: the payload stays as it is. */
export class Unmasker {
  /** The key as it stands for the next byte of the payload, that byte's part lowest. */
  #key = 0

  /** What was unmasked last. */
  get plain(): Buffer {
    return slab
  }

  /** A frame begins whose key stands at `at`. */
  key(bytes: Buffer, at: number): void {
    this.#key = bytes.readInt32LE(at)
  }

  /** Unmasks the next bytes of the payload into `plain`; how many, 64 KiB at most. */
  unmask(bytes: Buffer, start: number, end: number): number {
    const length = Math.min(end - start, SLAB_BYTES)
    bytes.copy(slab, 0, start, start + length)
    xor(length, this.#key)
    const turned = (length & 3) * 8
    if (turned !== 0) this.#key = (this.#key >>> turned) | (this.#key << (32 - turned))
    return length
  }
}
