import { withSecretOf } from '../../core/keeper.js'
import type { Exchange } from '../../core/plan.js'
import type { Call } from '../../kernel/call.js'
import type { Failure } from '../../kernel/failure.js'
import { slot } from '../../kernel/slot.js'
import type { Circuits } from './circuits.js'

/** Of a call: references of the secrets that have been refused. */
const REFUSED = slot<readonly string[]>('refused secrets')

const PAYMENT_REQUIRED = 402
const TOO_MANY_REQUESTS = 429

/** Which of an upstream's secrets a request takes: each in turn, those that are set aside last. */
export class SecretTurns {
  readonly #circuits: Circuits
  /** By the names of upstreams. */
  readonly #turns = new Map<string, number>()

  constructor(circuits: Circuits) {
    this.#circuits = circuits
  }

  /** The candidates, each with the secret whose turn it is. */
  chosen(candidates: readonly Exchange[], now: number): readonly Exchange[] {
    if (candidates.every(({ secrets }) => secrets === undefined)) return candidates
    return candidates.map(one => (one.secrets === undefined ? one : this.#choose(one, one.secrets, now)))
  }

  /** The same exchange with a secret that has not been refused yet, if this failure is a refusal of the one that it has. */
  next(call: Call, exchange: Exchange, { error, condition }: Failure, now: number): Exchange | undefined {
    const { secrets, upstream } = exchange
    const isRefused =
      error.code === 'upstream_auth' || condition === PAYMENT_REQUIRED || condition === TOO_MANY_REQUESTS
    if (secrets === undefined || !isRefused) return undefined
    const refused = [...(call.get(REFUSED) ?? []), upstream.keeper]
    call.set(REFUSED, refused)
    const left = secrets.filter(one => !refused.includes(one.upstream.keeper) && this.#until(one, now) === 0)
    return left.length === 0 ? undefined : this.#choose(exchange, left, now)
  }

  keep(upstreams: ReadonlyMap<string, unknown>): void {
    for (const name of this.#turns.keys()) if (!upstreams.has(name)) this.#turns.delete(name)
  }

  /** Where all are set aside: the one that comes back first. */
  #choose(exchange: Exchange, secrets: readonly Exchange[], now: number): Exchange {
    const { name } = exchange.upstream
    const turn = this.#turns.get(name) ?? 0
    this.#turns.set(name, (turn + 1) % Number.MAX_SAFE_INTEGER)
    let best: Exchange | undefined
    let soonest = Number.POSITIVE_INFINITY
    for (let index = 0; index < secrets.length && soonest > 0; index++) {
      const one = secrets[(turn + index) % secrets.length]
      const until = one === undefined ? soonest : this.#until(one, now)
      if (until >= soonest) continue
      best = one
      soonest = until
    }
    return best === undefined || best.upstream === exchange.upstream ? exchange : withSecretOf(exchange, best)
  }

  /** Until when a secret is set aside; 0: it is not, or it should be tried again. */
  #until({ upstream }: Exchange, now: number): number {
    const circuit = this.#circuits.ofCredential(upstream)
    if (circuit?.isOpen !== true) return 0
    return circuit.state(now) === 'half_open' && circuit.probe === undefined ? 0 : (circuit.standing?.until ?? 0)
  }
}
