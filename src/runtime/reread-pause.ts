/** Secrets are read again for a refused credential so often at most; the pause doubles while that brings nothing new. */
const FIRST_PAUSE_MS = 30_000
const LAST_PAUSE_MS = 8 * 60_000

/** How often secrets are read again because upstreams refuse them: some refuse for reasons that no other secret mends. */
export class RereadPause {
  /** Milliseconds, from any start. */
  readonly #clock: () => number
  #pauseMs = FIRST_PAUSE_MS
  #endsAt = Number.NEGATIVE_INFINITY
  /** What served when they were last read. */
  #generation: number | undefined

  constructor(clock: () => number = () => performance.now()) {
    this.#clock = clock
  }

  /** Whether they may be read now, which begins the next pause. `generation`: what serves. */
  begin(generation: number): boolean {
    const now = this.#clock()
    if (now < this.#endsAt) return false
    const isSame = generation === this.#generation
    this.#pauseMs = isSame ? Math.min(this.#pauseMs * 2, LAST_PAUSE_MS) : FIRST_PAUSE_MS
    this.#endsAt = now + this.#pauseMs
    this.#generation = generation
    return true
  }
}
