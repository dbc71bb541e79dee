/** Counts good and bad ends over the last half of a window and the one before it: four numbers for any traffic. */
export class HalfWindows {
  #since = Number.NEGATIVE_INFINITY
  #good = 0
  #bad = 0
  #goodBefore = 0
  #badBefore = 0

  add(isGood: boolean, now: number, windowMs: number): void {
    this.#roll(now, windowMs / 2)
    if (isGood) this.#good++
    else this.#bad++
  }

  bad(now: number, windowMs: number): number {
    this.#roll(now, windowMs / 2)
    return this.#bad + this.#badBefore
  }

  all(now: number, windowMs: number): number {
    return this.bad(now, windowMs) + this.#good + this.#goodBefore
  }

  clear(): void {
    this.#since = Number.NEGATIVE_INFINITY
    this.#good = this.#bad = this.#goodBefore = this.#badBefore = 0
  }

  #roll(now: number, halfMs: number): void {
    const passed = now - this.#since
    if (passed < halfMs) return
    const isNext = passed < 2 * halfMs
    this.#goodBefore = isNext ? this.#good : 0
    this.#badBefore = isNext ? this.#bad : 0
    this.#good = this.#bad = 0
    this.#since = isNext ? this.#since + halfMs : now
  }
}
