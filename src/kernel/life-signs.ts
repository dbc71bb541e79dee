/** How often a silent side is asked for a sign of life, milliseconds, and how many times in vain. */
const ASK = 20_000
const ASKED_IN_VAIN = 2
/** The slowest reader that is waited for. What a side was sent since it was heard lies before the ping, somewhere on the way. */
const SLOWEST_BYTES_PER_MS = 4

/** Whether one side of a WebSocket is alive: where it has been silent it is asked, and given up when asked in vain. */
export class LifeSigns {
  /** When it is to be asked, or given up. */
  #due: number
  #asked = 0
  /** What it had been sent when it was last heard, in bytes. */
  #sentBefore = 0

  /** Times are monotonic, in milliseconds. */
  constructor(now: number) {
    this.#due = now + ASK
  }

  /** Something came from it. `sent`: all bytes that it has been sent so far. */
  heard(now: number, sent = 0): void {
    this.wait(now)
    this.#sentBefore = sent
  }

  /** It cannot be heard now: what it was sent lies before a ping, or it is held up itself. */
  wait(now: number): void {
    this.#due = now + ASK
    this.#asked = 0
  }

  /**
   * `ask`: a ping is to be sent to it, now. `dead`: it was asked in vain, and stays so until something is heard.
   * `canBeAsked` is false where no ping may stand now: nobody is given up who was not asked.
   */
  check(now: number, canBeAsked = true, sent = 0): 'alive' | 'ask' | 'dead' {
    if (now < this.#due) return 'alive'
    if (this.#asked >= ASKED_IN_VAIN) {
      const reading = (sent - this.#sentBefore) / SLOWEST_BYTES_PER_MS
      return now < this.#due + reading ? 'alive' : 'dead'
    }
    if (!canBeAsked) return 'alive'
    this.#asked++
    this.#due = now + ASK
    return 'ask'
  }
}
