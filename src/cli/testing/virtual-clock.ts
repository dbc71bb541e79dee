/** The clock runs this much ahead, milliseconds, with each turn of a timer of {@link TURN_MS}. */
const STEP_MS = 1000
const TURN_MS = 2

/**
 * Lets the monotonic clock of this process run fast, so that time limits of minutes pass in an instant. All that runs meanwhile
 * feels it: tests with times run alone.
 */
export class VirtualClock {
  readonly #real = performance.now
  readonly #timer: NodeJS.Timeout
  #ahead = 0

  constructor() {
    performance.now = () => this.#real.call(performance) + this.#ahead
    this.#timer = setInterval(() => {
      this.#ahead += STEP_MS
    }, TURN_MS)
  }

  stop(): void {
    clearInterval(this.#timer)
    performance.now = this.#real
  }
}

/** Waits until that much virtual time has passed. */
export function virtualPause(milliseconds: number): Promise<void> {
  const end = performance.now() + milliseconds
  return new Promise(resolve => {
    const timer = setInterval(() => {
      if (performance.now() < end) return
      clearInterval(timer)
      resolve()
    }, TURN_MS)
  })
}
