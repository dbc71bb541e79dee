import { GatewayError } from '../core/errors.js'
import type { InFlight, Kernel } from '../kernel/kernel.js'

/** How often requests are looked for that came after the cut, milliseconds. */
const AGAIN_MS = 100

/** Ends requests because the process ends, each once. */
export class Cuts {
  readonly #calls: Kernel['calls']
  readonly #made = new Set<InFlight>()
  #timer: NodeJS.Timeout | undefined

  constructor(calls: Kernel['calls']) {
    this.#calls = calls
  }

  get count(): number {
    return this.#made.size
  }

  now(): void {
    this.#calls.visit(call => {
      const more = { retryAfter: 1000, phase: 'drain' }
      if (this.#made.has(call)) return
      if (call.cut(new GatewayError('unavailable', 'The gateway is shutting down.', more))) this.#made.add(call)
    })
  }

  /** Until {@link stop}: a client may use a connection again whose request has ended, since that answer's head did not say `close`. */
  after(milliseconds: number): void {
    this.#timer = setTimeout(() => {
      this.now()
      this.#timer = setInterval(() => this.now(), AGAIN_MS)
    }, milliseconds)
  }

  stop(): void {
    clearTimeout(this.#timer)
  }
}
