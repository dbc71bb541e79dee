/** How far the clocks run ahead with the first turn of the timer. It doubles with each: a request that waits for nothing takes no time. */
const FIRST_STEP_MS = 1
const LAST_STEP_MS = 1000
const TURN_MS = 2
/** The time of day begins with a full one, so that no window of a limit ends by chance. */
const HOUR_MS = 3_600_000

/**
 * The clocks of this process, which the test moves: the monotonic one, and the time of day. All code reads time from these two, so
 * time limits, pauses between retries and windows of limits take no real time. Timers of Node stay real. All that runs meanwhile feels
 * it: tests with times run alone.
 */
export class VirtualClock {
  readonly #now = performance.now
  readonly #today = Date.now
  readonly #dayAhead = HOUR_MS - (Date.now() % HOUR_MS)
  readonly #timer: NodeJS.Timeout
  #ahead = 0
  #step = 0

  constructor() {
    performance.now = () => this.#now.call(performance) + this.#ahead
    Date.now = () => this.#today.call(Date) + this.#dayAhead + this.#ahead
    this.#timer = setInterval(() => {
      this.#ahead += this.#step
      this.#step = Math.min(2 * this.#step, LAST_STEP_MS)
    }, TURN_MS)
  }

  /** Lets time run, slowly at first. */
  run(): void {
    this.#step = FIRST_STEP_MS
  }

  /** Time is real again, until it runs. */
  rest(): void {
    this.#step = 0
  }

  /** That much time is over, at once. */
  pass(milliseconds: number): void {
    this.#ahead += milliseconds
  }

  stop(): void {
    clearInterval(this.#timer)
    performance.now = this.#now
    Date.now = this.#today
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
