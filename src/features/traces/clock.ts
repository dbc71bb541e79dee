/** Beyond this the system's clock has been set, milliseconds. */
const MAX_DRIFT_MS = 50

/** Times of `performance.now()` as milliseconds since the epoch: they order spans of one process better than `Date.now()`. */
export class Clock {
  #offset = performance.timeOrigin

  at(time: number): number {
    return this.#offset + time
  }

  /** Follows the system's clock if it was set. */
  adjust(): void {
    const offset = Date.now() - performance.now()
    if (Math.abs(offset - this.#offset) > MAX_DRIFT_MS) this.#offset = offset
  }
}
