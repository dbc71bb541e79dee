/** Bytes of answers per turn of the event loop that are processed without looking at the clock. */
const UNTIMED_BYTES_PER_TURN = 64 * 1024
/** Time for answers per turn of the event loop, milliseconds: the runtime accepts one new connection per turn. */
const TURN_MS = 3
/** The same, milliseconds, in a turn that accepted a connection: more connections may be waiting. */
const ACCEPTING_TURN_MS = 0.1
/** Places at the beginning of the queue that may be empty. */
const MAX_EMPTY_PLACES = 1024

/** A relay with part of an answer to process. */
export interface Worker {
  /** Only for the queue. */
  isWaiting: boolean
  /** Processes the next few KiB. A worker with more left waits again. */
  turn(): void
}

/**
 * Shares the event loop between rewritten answers that arrive faster than they can be processed, and all other work.
 * The runtime reads up to 2 MiB from each socket before it looks at the next one, so a hundred fast upstreams would
 * delay every other request for seconds. Once the time of a turn is used up, answers are queued, and each gets a few
 * KiB in the turns that follow.
 */
export class EventLoopShares {
  /** The next one stands at `#first`. Not a `Set`, for the reason that `SlotSet` has. */
  readonly #line: (Worker | undefined)[] = []
  #first = 0
  /** Bytes since the last turn. */
  #bytes = 0
  /** When this turn's time is over; undefined if the clock was not read yet. */
  #end: number | undefined
  /** A connection has come since the last turn. */
  #accepting = false

  /** Whether so many bytes may be processed now. If not, the worker is queued and must pause its upstream. */
  tryRun(worker: Worker, bytes: number): boolean {
    this.#bytes += bytes
    if (this.#end === undefined) {
      if (this.#bytes > UNTIMED_BYTES_PER_TURN) this.begin()
      return true
    }
    if (this.#line.length === 0 && performance.now() < this.#end) return true
    if (!worker.isWaiting) this.#line.push(worker)
    worker.isWaiting = true
    return false
  }

  /** A connection was accepted: shortens the rest of this turn, and the next one. */
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
    if (this.#line.length === 0) {
      this.#end = undefined
      return
    }
    this.begin()
    const end = this.#end ?? 0
    // One step each: workers with more left queue again, at the end.
    this.#end = 0
    for (let worker = this.shift(); worker !== undefined; worker = this.shift()) {
      worker.turn()
      if (performance.now() >= end) break
    }
    this.#end = end
  }

  private shift(): Worker | undefined {
    const worker = this.#line[this.#first]
    if (worker === undefined) return undefined
    this.#line[this.#first++] = undefined
    if (this.#first === this.#line.length || this.#first === MAX_EMPTY_PLACES) {
      this.#line.splice(0, this.#first)
      this.#first = 0
    }
    worker.isWaiting = false
    return worker
  }
}
