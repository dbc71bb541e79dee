/** How often a silent side gets a ping, and after how many unanswered ones it is dead. */
const PING_INTERVAL_MS = 20_000
const MAX_UNANSWERED_PINGS = 2
/** The slowest reader that is tolerated: bytes sent since its last sign of life precede the ping on the way. */
const MIN_READ_BYTES_PER_MS = 4

/** Checks whether one side of a WebSocket is alive: a silent side gets pings, and is dead if it answers none of them. */
export class Keepalive {
  /** When the next ping is due, or the side is dead. */
  #deadline: number
  #pings = 0
  /** Bytes that had been sent to it when it last sent something. */
  #sentAtLastSign = 0

  /** Times are monotonic, in milliseconds. */
  constructor(now: number) {
    this.#deadline = now + PING_INTERVAL_MS
  }

  /** The side sent something. `sent`: total bytes that were sent to it so far. */
  received(now: number, sent = 0): void {
    this.wait(now)
    this.#sentAtLastSign = sent
  }

  /** The side cannot be heard now: unread bytes precede a ping, or it is paused. */
  wait(now: number): void {
    this.#deadline = now + PING_INTERVAL_MS
    this.#pings = 0
  }

  /**
   * `ping`: send it a ping now. `dead`: it answered no ping, and stays dead until it sends something.
   * `canPing` is false if no ping may be sent now: a side that got no ping is never dead.
   */
  check(now: number, canPing = true, sent = 0): 'alive' | 'ping' | 'dead' {
    if (now < this.#deadline) return 'alive'
    if (this.#pings >= MAX_UNANSWERED_PINGS) {
      const reading = (sent - this.#sentAtLastSign) / MIN_READ_BYTES_PER_MS
      return now < this.#deadline + reading ? 'alive' : 'dead'
    }
    if (!canPing) return 'alive'
    this.#pings++
    this.#deadline = now + PING_INTERVAL_MS
    return 'ping'
  }
}
