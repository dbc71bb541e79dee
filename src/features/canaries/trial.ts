import { plannedOf } from '../../core/keeper.js'
import type { Choice, Exchange } from '../../core/plan.js'
import { slot } from '../../kernel/slot.js'

/** The candidates of a call that are those of a canary. */
export class Trial {
  readonly choice: Choice
  /** Whether this call is one of those that try it: then they are asked first, else last. */
  readonly isTried: boolean
  readonly #exchanges: ReadonlySet<Exchange>

  constructor(choice: Choice, isTried: boolean, exchanges: readonly Exchange[]) {
    this.choice = choice
    this.isTried = isTried
    this.#exchanges = new Set(exchanges)
  }

  has(exchange: Exchange): boolean {
    return this.#exchanges.has(plannedOf(exchange))
  }
}

export const TRIAL = slot<Trial>('canaries')
