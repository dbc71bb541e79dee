import { GatewayError } from '../../core/errors.js'
import type { FairShares } from '../../core/fair-shares.js'
import { type ServiceKey, serviceKey } from '../../kernel/services.js'

/** Something that has to end before the process does. */
export interface Drainable {
  drain(): void
}

export const TUNNELS: ServiceKey<Tunnels> = serviceKey('tunnels')

/** The open tunnels, and how many each caller has. */
export class Tunnels {
  readonly #open = new Set<Drainable>()
  readonly #counts = new Map<string, number>()
  /** Shares of callers in all WebSockets of the process. */
  readonly #sockets: FairShares

  constructor(sockets: FairShares) {
    this.#sockets = sockets
  }

  /**
   * Counts a session of a caller; throws `rate_limited` if it has `max`, and `unavailable` if the process has too many
   * WebSockets. The returned function releases it, and must be called once.
   */
  take(caller: string, max: number): () => void {
    const count = this.#counts.get(caller) ?? 0
    if (count >= max) {
      throw new GatewayError('rate_limited', 'Too many sessions are open with this key. Close one to open another.', {
        limit: 'sessions',
        retryAfter: 1000,
      })
    }
    if (!this.#sockets.take(caller)) throw tooManySockets()
    this.#counts.set(caller, count + 1)
    return () => {
      this.#sockets.release(caller)
      const left = (this.#counts.get(caller) ?? 1) - 1
      if (left > 0) this.#counts.set(caller, left)
      else this.#counts.delete(caller)
    }
  }

  add(tunnel: Drainable): void {
    this.#open.add(tunnel)
  }

  delete(tunnel: Drainable): void {
    this.#open.delete(tunnel)
  }

  /** Ends all of them, because the process ends. */
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
