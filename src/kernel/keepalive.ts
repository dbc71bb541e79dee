/** How often a silent side is asked for a sign of life, milliseconds, and how many times in vain. */
const PING_INTERVAL_MS = 20_000
const MAX_UNANSWERED_PINGS = 2
/** The slowest reader that is waited for. What a side was sent since it was heard lies before the ping, somewhere on the way. */
const MIN_READ_BYTES_PER_MS = 4

/** Whether one side of a WebSocket is alive: where it has been silent it is asked, and given up when asked in vain. */
export class Keepalive {
  /** When it is to be asked, or given up. */
  #deadline: number
  #pings = 0
  /** What it had been sent when it was last heard, in bytes. */
  #sentAtLastSign = 0

  /** Times are monotonic, in milliseconds. */
  constructor(now: number) {
    this.#deadline = now + PING_INTERVAL_MS
  }

  /** Something came from it. `sent`: all bytes that it has been sent so far. */
  received(now: number, sent = 0): void {
    this.wait(now)
    this.#sentAtLastSign = sent
  }

  /** It cannot be heard now: what it was sent lies before a ping, or it is held up itself. */
  wait(now: number): void {
    this.#deadline = now + PING_INTERVAL_MS
    this.#pings = 0
  }

  /**
   * `ping`: a ping is to be sent to it, now. `dead`: it was asked in vain, and stays so until something is heard.
   * `canBeAsked` is false where no ping may stand now: nobody is given up who was not asked.
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
