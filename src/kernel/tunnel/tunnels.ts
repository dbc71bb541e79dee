import { GatewayError } from '../../core/errors.js'
import type { FairShares } from '../../core/fair-shares.js'

/** Somebody who is told that the process ends. */
export interface Drained {
  drain(): void
}

/** The tunnels that are open, and how many each caller has. */
export class Tunnels {
  readonly #open = new Set<Drained>()
  readonly #held = new Map<string, number>()
  /** All WebSockets of the process. */
  readonly #sockets: FairShares

  constructor(sockets: FairShares) {
    this.#sockets = sockets
  }

  /**
   * Takes one of the `most` places of a caller; throws `rate_limited` where none is left, and `unavailable` where the
   * process has too many WebSockets. The place is given back once.
   */
  take(caller: string, most: number): () => void {
    const held = this.#held.get(caller) ?? 0
    if (held >= most) {
      throw new GatewayError('rate_limited', 'Too many sessions are open with this key. Close one to open another.', {
        limit: 'sessions',
        retryAfter: 1000,
      })
    }
    if (!this.#sockets.take(caller)) throw tooManySockets()
    this.#held.set(caller, held + 1)
    return () => {
      this.#sockets.release(caller)
      const left = (this.#held.get(caller) ?? 1) - 1
      if (left > 0) this.#held.set(caller, left)
      else this.#held.delete(caller)
    }
  }

  add(tunnel: Drained): void {
    this.#open.add(tunnel)
  }

  delete(tunnel: Drained): void {
    this.#open.delete(tunnel)
  }

  /** Tells all of them that the process ends. */
  drain(): void {
    for (const tunnel of this.#open) tunnel.drain()
  }
}

export function tooManySockets(): GatewayError {
  return new GatewayError('unavailable', 'Too many WebSockets are open. Try again soon.', {
    retryAfter: 1000,
    limit: 'sockets',
  })
}
