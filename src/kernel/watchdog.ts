import type { GatewayError } from '../core/errors.js'
import { SlotSet } from './slot-set.js'

/** Something that has deadlines. `check` is called every tick with the monotonic time in milliseconds. */
export interface Watched {
  check(now: number): void
}

/** Resolution of exchanges' time-outs. */
const TICK_MS = 50
/** A tick that is this late shows that the process was stopped or busy: what has arrived meanwhile is not read yet. */
const LATE_TICK_MS = 2 * TICK_MS

/**
 * One timer for the deadlines of every exchange: an event of a stream then costs one stored number, and a time-out costs
 * nothing until it is due. Runs only while something is watched.
 */
export class Watchdog {
  readonly #watched = new SlotSet<Watched>()
  #timer: NodeJS.Timeout | undefined
  #lastTick = 0
  #skipped = false

  /** Returns the slot that deletes it, once. */
  add(watched: Watched): number {
    if (this.#timer === undefined) {
      this.#lastTick = performance.now()
      this.#timer = setInterval(() => this.#tick(), TICK_MS)
    }
    return this.#watched.add(watched)
  }

  delete(place: number): void {
    this.#watched.delete(place)
  }

  get size(): number {
    return this.#watched.size
  }

  #tick(): void {
    const now = performance.now()
    // Sockets are read before the next tick, which checks however late it is.
    this.#skipped = !this.#skipped && now - this.#lastTick > LATE_TICK_MS
    this.#lastTick = now
    if (!this.#skipped) this.#watched.visit(watched => watched.check(now))
    if (this.#watched.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }
}

/** An upstream call for a client's call: cancelled when the client leaves, checked every tick for its deadlines. */
export interface Work extends Watched {
  cancel(): void
  /** Ends the answer now, as well as its form allows. False if nothing of it was sent. */
  cut(error: GatewayError): boolean
}
