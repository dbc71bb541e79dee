import type { StreamContract } from '../core/limits.js'
import { PieceCounter } from './content-marks.js'

/** Time over which the rate of a stream is measured. */
const RATE_WINDOW_MS = 10_000

/** How fast the content of one stream comes, beside what its model demands. Looks at the clock only when it is asked. */
export class Pace {
  readonly #contract: StreamContract
  readonly #counter = new PieceCounter()
  /** Pieces at the last look that found new ones, and when that was. */
  #known = 0
  #since: number | undefined
  /** When the rate's window began, and the pieces until then. */
  #window = 0
  #before = 0

  constructor(contract: StreamContract) {
    this.#contract = contract
  }

  push(chunk: Buffer): void {
    this.#counter.push(chunk)
  }

  get #pieces(): number {
    return this.#counter.count
  }

  /** What the stream fails to keep; undefined: nothing. `isPaused`: its client does not read. `now`: monotonic, milliseconds. */
  late(now: number, isPaused: boolean): 'first_token' | 'gap' | 'min_rate' | undefined {
    const { first_token = Infinity, gap = Infinity, min_rate = 0 } = this.#contract
    if (this.#since === undefined || isPaused || this.#known !== this.#pieces) {
      if (this.#known === 0 || isPaused) this.#restart(now)
      this.#known = this.#pieces
      this.#since = now
      return undefined
    }
    if (this.#pieces === 0) return now - this.#since > first_token ? 'first_token' : undefined
    if (now - this.#since > gap) return 'gap'
    return this.#isSlow(now, min_rate) ? 'min_rate' : undefined
  }

  #isSlow(now: number, rate: number): boolean {
    if (now - this.#window < RATE_WINDOW_MS) return false
    const pieces = this.#pieces - this.#before
    const isSlow = pieces * 1000 < rate * (now - this.#window)
    this.#restart(now)
    return isSlow
  }

  #restart(now: number): void {
    this.#window = now
    this.#before = this.#pieces
  }
}
