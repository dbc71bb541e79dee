import type { Call } from './call.js'
import type { Watched } from './watchdog.js'

/**
 * A call's wait between two attempts. It holds no connection, and ends early if the next attempt would be useless:
 * the client has left, or the process drains.
 */
class Pause implements Watched {
  readonly #call: Call
  readonly #until: number
  readonly #over: (continues: boolean) => void
  readonly #watched: number
  #isOver = false

  constructor(call: Call, milliseconds: number, over: (continues: boolean) => void) {
    this.#call = call
    this.#until = performance.now() + milliseconds
    this.#over = over
    this.#watched = call.kernel.watchdog.add(this)
    call.cancellation.add(this)
  }

  check(now: number): void {
    if (this.#call.kernel.draining) this.end(false)
    else if (now >= this.#until) this.end(true)
  }

  cancel(): void {
    this.end(false)
  }

  private end(continues: boolean): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#call.kernel.watchdog.delete(this.#watched)
    this.#over(continues)
  }
}

/** Calls `over` once, after this time or earlier: with false if the call has ended or must end. Without a wait, at once. */
export function pause(call: Call, milliseconds: number, over: (continues: boolean) => void): void {
  if (milliseconds <= 0) over(true)
  else new Pause(call, milliseconds, over)
}
