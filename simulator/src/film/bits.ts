const INITIAL_BYTES = 65_536

/** Writes bits, the highest of each byte first, with the codes of H.264 (ITU-T H.264, section 9.1). */
export class Bits {
  #bytes = Buffer.alloc(INITIAL_BYTES)
  #at = 0
  #byte = 0
  #free = 8

  /** An unsigned number in so many bits, at most 31. */
  put(value: number, count: number): void {
    for (let bit = count - 1; bit >= 0; bit -= 1) {
      this.#free -= 1
      this.#byte |= ((value >> bit) & 1) << this.#free
      if (this.#free === 0) this.flush()
    }
  }

  /** `ue(v)`: unsigned, in the Exp-Golomb code. */
  ue(value: number): void {
    const length = 32 - Math.clz32(value + 1)
    this.put(0, length - 1)
    this.put(value + 1, length)
  }

  /** `se(v)`: signed. */
  se(value: number): void {
    this.ue(value > 0 ? 2 * value - 1 : -2 * value)
  }

  /** Zeros up to the next byte. */
  align(): void {
    if (this.#free < 8) this.flush()
  }

  /** A whole byte, on the boundary of one. */
  byte(value: number): void {
    if (this.#at === this.#bytes.length) this.#bytes = Buffer.concat([this.#bytes, Buffer.alloc(this.#bytes.length)])
    this.#bytes[this.#at] = value
    this.#at += 1
  }

  /** All that was written, behind a stop bit (`rbsp_trailing_bits`). */
  finish(): Buffer {
    this.put(1, 1)
    this.align()
    return this.#bytes.subarray(0, this.#at)
  }

  private flush(): void {
    this.byte(this.#byte)
    this.#byte = 0
    this.#free = 8
  }
}
