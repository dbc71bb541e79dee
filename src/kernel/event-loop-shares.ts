/** Bytes of answers that are worked on in one turn of the event loop before anybody looks at the clock. */
const UNTIMED_BYTES_PER_TURN = 64 * 1024
/**
 * Time for answers in one turn of the event loop, milliseconds: after that everybody else has theirs. Short, because the
 * runtime takes one new connection a turn.
 */
const TURN_MS = 3
/** The same, milliseconds, where a connection came in this turn: more of them may stand behind it. */
const ACCEPTING_TURN_MS = 0.1

/** Somebody who has part of an answer to work on. */
export interface Worker {
  /** Works on the next few KiB. Whoever has more left waits again. */
  turn(): void
}

/**
 * Shares the event loop among answers that are written anew and come faster than that can be done, and with everything else. The runtime
 * reads up to 2 MiB of each socket before it looks at the next one: some hundred upstreams that push would hold up every
 * other request for seconds. Past the time of a turn answers wait in line, a few KiB of each in the turns that follow.
 */
export class EventLoopShares {
  readonly #line = new Set<Worker>()
  /** Bytes since the last turn. */
  #bytes = 0
  /** When this turn's time is over; undefined where nobody has looked at the clock. */
  #end: number | undefined
  /** A connection has come since the last turn. */
  #accepting = false

  /** Whether so many bytes may be worked on now. Where not, the worker stands in line, and has to hold its upstream back. */
  take(worker: Worker, bytes: number): boolean {
    this.#bytes += bytes
    if (this.#end === undefined) {
      if (this.#bytes > UNTIMED_BYTES_PER_TURN) this.begin()
      return true
    }
    if (this.#line.size === 0 && performance.now() < this.#end) return true
    this.#line.add(worker)
    return false
  }

  /** A connection has come: what is left of this turn, and the next one, are short. */
  accepted(): void {
    this.#accepting = true
    if (this.#end !== undefined) this.#end = Math.min(this.#end, performance.now() + ACCEPTING_TURN_MS)
  }

  private begin(): void {
    this.#end = performance.now() + (this.#accepting ? ACCEPTING_TURN_MS : TURN_MS)
    this.#accepting = false
    setImmediate(this.next)
  }

  private readonly next = (): void => {
    this.#bytes = 0
    if (this.#line.size === 0) {
      this.#end = undefined
      return
    }
    this.begin()
    const end = this.#end ?? 0
    // One step each: those who have more stand in line again, and come last.
    this.#end = 0
    for (const worker of this.#line) {
      this.#line.delete(worker)
      worker.turn()
      if (performance.now() >= end) break
    }
    this.#end = end
  }
}
