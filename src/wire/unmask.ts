import { SLAB_BYTES, slab, xor } from './slab.js'

/** Unmasks the payload of client frames (RFC 6455 §5.3) into its own memory; the payload stays unchanged. */
export class Unmasker {
  /** The key rotated for the next byte of the payload, whose key byte is lowest. */
  #key = 0

  /** The bytes unmasked last. */
  get plain(): Buffer {
    return slab
  }

  /** Begins a frame whose key is at `at`. */
  key(bytes: Buffer, at: number): void {
    this.#key = bytes.readInt32LE(at)
  }

  /** Unmasks the next bytes of the payload into `plain` and returns how many, at most 64 KiB. */
  unmask(bytes: Buffer, start: number, end: number): number {
    const length = Math.min(end - start, SLAB_BYTES)
    bytes.copy(slab, 0, start, start + length)
    xor(length, this.#key)
    const turned = (length & 3) * 8
    if (turned !== 0) this.#key = (this.#key >>> turned) | (this.#key << (32 - turned))
    return length
  }
}
