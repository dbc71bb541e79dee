import type { GatewayError } from '../core/errors.js'

/** Work for a call that no one needs once the call has ended. */
interface Cancellable {
  /** Called once, and at once if the call has ended already. Must not throw. */
  cancel(): void
}

/**
 * The end of a call, from its arrival on. A call ends when its answer is complete, when its client leaves, or when it
 * fails. Everything that still works for it is cancelled then, the latest first.
 */
export class Cancellation {
  #over = false
  #reason: GatewayError | undefined
  readonly #listeners: Cancellable[] = []
  #controller: AbortController | undefined

  /** Why the call ended; undefined as long as it has not, and where its answer is complete. */
  get reason(): GatewayError | undefined {
    return this.#reason
  }

  /** For libraries and timers that take one. Made on first use, since it costs microseconds. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController()
      if (this.#over) this.#controller.abort(this.#reason)
    }
    return this.#controller.signal
  }

  add(listener: Cancellable): void {
    if (this.#over) listener.cancel()
    else this.#listeners.push(listener)
  }

  /** For long work, after it has waited: throws the reason if the call has ended. */
  throwIfCancelled(): void {
    if (this.#over) throw this.#reason ?? new Error('the answer to this call is complete')
  }

  /** Only for the call. The first time counts; `reason` is absent if the answer is complete. */
  end(reason: GatewayError | undefined): void {
    if (this.#over) return
    this.#over = true
    this.#reason = reason
    for (let index = this.#listeners.length - 1; index >= 0; index--) this.#listeners[index]?.cancel()
    this.#listeners.length = 0
    this.#controller?.abort(reason)
  }
}
