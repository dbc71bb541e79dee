import { Line } from './line.js'

/** Bytes of answers per turn of the event loop that are processed without looking at the clock. */
const UNTIMED_BYTES_PER_TURN = 64 * 1024
/** Time for answers per turn of the event loop, milliseconds: the runtime accepts one new connection per turn. */
const TURN_MS = 3
/** The same, milliseconds, in a turn that accepted a connection: more connections may be waiting. */
const ACCEPTING_TURN_MS = 0.1
/** So long, at most, the queues wait for connections to be accepted, milliseconds. */
const MAX_SKIPPED_MS = 20
/** Requests that waited while connections were accepted and are begun in a later turn; one in a turn that accepted another. */
const ARRIVALS_PER_TURN = 4
/** Beginning a WebSocket or one of its requests takes about as long as so many bytes of an answer. */
const BEGINNING_BYTES = 8 * 1024

/** A relay with part of an answer to process, or a tunnel with bytes of one of its sides. */
export interface Worker {
  /** Only for the queue. */
  isWaiting: boolean
  /** Processes the next few KiB. A worker with more left waits again. */
  turn(): void
}

/**
 * Shares the event loop between answers and tunnels whose bytes arrive faster than they can be processed, handshakes and
 * requests of WebSockets, requests of clients that have just connected, and all other work. The runtime reads up to 2 MiB from
 * each socket before the next one, so a hundred fast upstreams would delay every other request for seconds. When the time of a
 * turn is used up, answers are queued, and each gets a few KiB in the following turns; each turn also begins one waiting
 * handshake, and a few requests. While connections are being accepted, the queues get at most half of the time, since the last
 * connection waits for all these turns. Checks of health do not queue.
 */
export class EventLoopShares {
  readonly #answers = new Line<Worker>()
  readonly #beginnings = new Line<() => void>()
  readonly #arrivals = new Line<() => void>()
  /** Bytes since the last turn. */
  #bytes = 0
  /** When this turn's time is over; undefined if the clock was not read yet. */
  #end: number | undefined
  /** A connection was accepted since the last turn. */
  #accepting = false
  /** A connection was accepted in this turn or the last one. */
  #isShort = false
  /** When the last turn began that worked on the queues, and when it was over with all that followed in microtasks; milliseconds. */
  #workBegan = 0
  #workEnded = 0
  #hasWorked = false

  /** Whether so many bytes may be processed now. If not, the worker is queued and must pause its upstream. */
  tryRun(worker: Worker, bytes: number): boolean {
    if (this.isFree(bytes)) return true
    if (!worker.isWaiting) this.#answers.push(worker)
    worker.isWaiting = true
    return false
  }

  /** Begins a handshake or a request of a WebSocket: now, or when its turn comes. */
  begin(act: () => void): void {
    if (this.isFree(BEGINNING_BYTES)) act()
    else this.#beginnings.push(act)
  }

  /** A connection was accepted: shortens the rest of this turn, and the next one. */
  accepted(): void {
    this.#accepting = true
    if (this.#end === undefined) {
      this.startTurn()
      this.#accepting = true
    } else {
      this.#isShort = true
      this.#end = Math.min(this.#end, performance.now() + ACCEPTING_TURN_MS)
    }
  }

  /**
   * Begins a request: at once, unless connections are being accepted. A few hundred clients that connect at the same moment
   * would otherwise wait to be accepted until the requests of those before them have been begun, and with them any check of health.
   */
  arrive(act: () => void): void {
    const isLate = this.#isShort && this.#end !== undefined && performance.now() >= this.#end
    if (isLate || this.#arrivals.length > 0) this.#arrivals.push(act)
    else act()
  }

  private get isIdle(): boolean {
    return this.#answers.length === 0 && this.#beginnings.length === 0 && this.#arrivals.length === 0
  }

  /** Whether work that takes as long as so many bytes may be done now. */
  private isFree(bytes: number): boolean {
    this.#bytes += bytes
    if (this.#end !== undefined) return this.isIdle && performance.now() < this.#end
    if (this.#bytes > UNTIMED_BYTES_PER_TURN) this.startTurn()
    return true
  }

  private startTurn(): void {
    this.#isShort = this.#accepting
    this.#end = performance.now() + (this.#isShort ? ACCEPTING_TURN_MS : TURN_MS)
    this.#accepting = false
    setImmediate(this.next)
  }

  private readonly next = (): void => {
    this.#bytes = 0
    if (this.isIdle) {
      this.#hasWorked = false
      if (this.#accepting) this.startTurn()
      else this.#end = undefined
      return
    }
    const now = performance.now()
    if (this.#hasWorked) this.#workEnded = now
    const took = Math.min(this.#workEnded - this.#workBegan, MAX_SKIPPED_MS)
    const isSkipped = this.#accepting && now - this.#workEnded < took
    this.#hasWorked = !isSkipped
    this.startTurn()
    const end = this.#end ?? 0
    // One step each: workers with more left queue again, at the end.
    this.#end = 0
    if (isSkipped) return
    this.#workBegan = now
    this.work(end)
    beginFrom(this.#arrivals, this.#isShort ? 1 : ARRIVALS_PER_TURN)
    beginFrom(this.#beginnings, 1)
    this.#end = end
  }

  /** Gives a step to each answer while there is time. */
  private work(end: number): void {
    for (let worker = this.#answers.shift(); worker !== undefined; worker = this.#answers.shift()) {
      worker.isWaiting = false
      worker.turn()
      if (performance.now() >= end) return
    }
  }
}

function beginFrom(line: Line<() => void>, most: number): void {
  for (let left = most; left > 0 && line.length > 0; left--) line.shift()?.()
}
