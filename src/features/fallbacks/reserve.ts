import { plannedOf } from '../../core/keeper.js'
import type { Choice, Exchange } from '../../core/plan.js'
import { slot } from '../../kernel/slot.js'

/** A model that is asked instead. */
interface Fallback {
  readonly model: string
  readonly choice: Choice
}

/** Candidates of other models: they are asked only after a failure that leads to them. */
export class Reserve {
  readonly #models = new Map<Exchange, Fallback>()

  add(exchange: Exchange, fallback: Fallback): void {
    this.#models.set(exchange, fallback)
  }

  get exchanges(): readonly Exchange[] {
    return [...this.#models.keys()]
  }

  /** The models, in the order in which they were added. */
  get fallbacks(): readonly Fallback[] {
    return [...new Set(this.#models.values())]
  }

  /** Undefined: a candidate of the call's own model. Whichever of its upstream's secrets it has. */
  of(exchange: Exchange): Fallback | undefined {
    return this.#models.get(plannedOf(exchange))
  }

  has(exchange: Exchange): boolean {
    return this.of(exchange) !== undefined
  }
}

export const RESERVE = slot<Reserve>('fallbacks')
