import { SYSTEM_CLOCK } from '../../features/limits/clock.js'
import { Windows } from '../../features/limits/windows.js'

/** How far the clocks run ahead with the first turn of the timer. It doubles with each: a request that waits for nothing takes no time. */
const FIRST_STEP_MS = 1
const LAST_STEP_MS = 1000
const TURN_MS = 2

/**
 * The clocks of this process, which the test moves: the monotonic one, and the time of day. All code reads time from these two, so
 * time limits, pauses between retries, and windows and queues of limits take no real time. Other timers of Node stay real. All that runs
 * meanwhile feels it: tests with times run alone. The time of day begins with the month, so that no window of a limit ends by chance.
 */
export class VirtualClock {
  readonly #now = performance.now
  readonly #today = Date.now
  readonly #after = SYSTEM_CLOCK.after
  readonly #begin: number
  readonly #timer: NodeJS.Timeout
  #ahead = 0
  #step = 0

  constructor(timeZone: string) {
    this.#begin = new Windows(timeZone).find('month', Date.now()).start - Date.now()
    performance.now = () => this.#now.call(performance) + this.#ahead
    Date.now = () => this.#today.call(Date) + this.#begin + this.#ahead
    SYSTEM_CLOCK.after = after
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
    SYSTEM_CLOCK.after = this.#after
  }
}

/** Waits until that much virtual time has passed. */
export function virtualPause(milliseconds: number): Promise<void> {
  return new Promise(resolve => void after(milliseconds, resolve))
}

/** Runs it once so much virtual time has passed; what it returns cancels that. */
function after(milliseconds: number, run: () => void): () => void {
  const end = performance.now() + milliseconds
  const timer = setInterval(() => {
    if (performance.now() < end) return
    clearInterval(timer)
    run()
  }, TURN_MS)
  return () => clearInterval(timer)
}
