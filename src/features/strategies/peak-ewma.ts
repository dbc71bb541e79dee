/** After this time a measurement counts for 37 %. */
const DECAY_MS = 10_000
/** What an estimate has to exceed to say anything, milliseconds. */
const LEAST_MS = 0.001

/**
 * An estimate of a time that believes bad news at once and good news slowly: a longer time replaces it, a shorter one is averaged
 * in by its age. It sinks while nothing is measured, so that what was slow is tried again.
 */
export class PeakEwma {
  #value = 0
  #at = 0

  /** `now` in milliseconds of a clock that only goes forward. */
  observe(milliseconds: number, now: number): void {
    const weight = this.#weight(now)
    const faded = this.#value * weight
    this.#value = milliseconds > this.#value ? milliseconds : faded + milliseconds * (1 - weight)
    this.#at = now
  }

  /** The estimate now, milliseconds; 0 where nothing is known, or what was known is too old. */
  value(now: number): number {
    const value = this.#value * this.#weight(now)
    return value < LEAST_MS ? 0 : value
  }

  #weight(now: number): number {
    return Math.exp(-Math.max(0, now - this.#at) / DECAY_MS)
  }
}
