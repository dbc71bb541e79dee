/** The clocks and timers of the book, so that tests can let time pass at their own pace. */
export interface Clock {
  /** Time of day, milliseconds since the epoch: it decides the window, and may jump. */
  now(): number
  /** Milliseconds that only go forward: durations and the end of leases. */
  monotonic(): number
  /** Runs once, later; what it returns cancels it. */
  after(milliseconds: number, run: () => void): () => void
}

export const SYSTEM_CLOCK: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after: (milliseconds, run) => {
    const timer = setTimeout(run, milliseconds)
    timer.unref()
    return () => clearTimeout(timer)
  },
}

/** A difference between the two clocks that is a step, and not the usual correction of a running clock. */
const STEP_MS = 1000
/** How long a step must last before leases follow it. */
const STEP_LASTS_MS = 120_000

/**
 * The time of day for leases, which all processes of a store compare: it continues evenly when the clock jumps, so that a jump
 * frees no leases of other processes. A jump that lasts was a correction, and is followed.
 */
export class SteadyClock {
  readonly #clock: Clock
  /** Time of day minus monotonic time, as leases see it. */
  #offset: number
  /** The same as the clock has it since a step, and the moment of that, monotonic. */
  #stepped: { readonly offset: number; readonly since: number } | undefined

  constructor(clock: Clock) {
    this.#clock = clock
    this.#offset = clock.now() - clock.monotonic()
  }

  now(): number {
    const monotonic = this.#clock.monotonic()
    const offset = this.#clock.now() - monotonic
    if (isNear(offset, this.#offset)) this.#follow(offset)
    else if (this.#stepped === undefined || !isNear(offset, this.#stepped.offset))
      this.#stepped = { offset, since: monotonic }
    else if (monotonic - this.#stepped.since >= STEP_LASTS_MS) this.#follow(offset)
    return Math.floor(monotonic + this.#offset)
  }

  #follow(offset: number): void {
    this.#offset = offset
    this.#stepped = undefined
  }
}

function isNear(one: number, other: number): boolean {
  return Math.abs(one - other) < STEP_MS
}
