/** How often a silent side is asked for a sign of life, milliseconds, and how many times in vain. */
const ASK = 20_000
const ASKED_IN_VAIN = 2

/** Whether one side of a WebSocket is alive: where it has been silent it is asked, and given up when asked in vain. */
export class LifeSigns {
  #heard: number
  #asked = 0

  /** Times are monotonic, in milliseconds. */
  constructor(now: number) {
    this.#heard = now
  }

  /** Something came from it. */
  heard(now: number): void {
    this.#heard = now
    this.#asked = 0
  }

  /** `ask`: a ping is to be sent to it, now. `dead`: it was asked in vain, and stays so until something is heard. */
  check(now: number): 'alive' | 'ask' | 'dead' {
    if (now - this.#heard < ASK * (this.#asked + 1)) return 'alive'
    if (this.#asked >= ASKED_IN_VAIN) return 'dead'
    this.#asked++
    return 'ask'
  }
}
