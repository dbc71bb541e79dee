/** Length of the window in which requests and repetitions are counted, and of its parts, milliseconds. */
const WINDOW_MS = 10_000
const PART_MS = 1000
const PARTS = WINDOW_MS / PART_MS
/** Repetitions in a window that are allowed however few requests there are: a quiet gateway may retry, too. */
const FLOOR = 10

/**
 * What one upstream has got lately: requests, and those that it got once more for a call that had failed there. Parts of a second
 * begin and leave as wholes: repetitions count for up to a second too long, requests for up to a second too short.
 */
export class RetryBudget {
  readonly #requests = new Uint32Array(PARTS + 1)
  readonly #repeated = new Uint32Array(PARTS + 1)
  #part = 0
  /** Repetitions that have been allowed and not been sent. */
  #held = 0

  /** A request goes to the upstream for the first time in its call. `now`: monotonic, milliseconds. */
  request(now: number): void {
    this.#turn(now)
    const at = this.#part % (PARTS + 1)
    this.#requests[at] = (this.#requests[at] as number) + 1
  }

  /** Whether one more repetition is allowed, which is held until it is sent or given back. `share`: of the requests. */
  hold(share: number, now: number): boolean {
    this.#turn(now)
    const oldest = (this.#part + 1) % (PARTS + 1)
    const requests = sum(this.#requests) - (this.#requests[oldest] as number)
    if (sum(this.#repeated) + this.#held + 1 > Math.max(FLOOR, share * requests)) return false
    this.#held++
    return true
  }

  /** What was held is sent now. */
  send(now: number): void {
    this.#turn(now)
    this.#held--
    const at = this.#part % (PARTS + 1)
    this.#repeated[at] = (this.#repeated[at] as number) + 1
  }

  giveBack(): void {
    this.#held--
  }

  #turn(now: number): void {
    const part = Math.floor(now / PART_MS)
    const steps = Math.min(part - this.#part, PARTS + 1)
    if (steps <= 0) return
    for (let step = 0; step < steps; step++) {
      this.#requests[(part - step) % (PARTS + 1)] = 0
      this.#repeated[(part - step) % (PARTS + 1)] = 0
    }
    this.#part = part
  }
}

function sum(counts: Uint32Array): number {
  let all = 0
  for (const count of counts) all += count
  return all
}
