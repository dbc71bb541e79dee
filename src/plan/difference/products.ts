import type { Steps } from '../../core/steps.js'
import type { RequestChange } from './change.js'
import type { Outcome } from './outcome.js'

interface Product {
  readonly outcome: Outcome
  readonly keys: string[]
  readonly models: readonly string[]
}

/** Differences as products of keys, models and routes: equal ones of several keys, or of several models, are one. */
export class ProductList {
  readonly #keyed = new Map<string, { readonly outcome: Outcome; readonly keys: readonly string[]; models: string[] }>()
  #keySets = 0
  readonly #sets = new WeakMap<readonly string[], number>()

  /** `isAlone`: the outcome was decided for this very model, so that it may name the upstream's name for it. */
  add(outcome: Outcome, keys: readonly string[], models: readonly string[], isAlone: boolean): void {
    const shown = isAlone ? outcome : withoutNames(outcome)
    const id = `${this.#numberOf(keys)} ${JSON.stringify(shown)}`
    const known = this.#keyed.get(id)
    if (known === undefined) this.#keyed.set(id, { outcome: shown, keys, models: [...models] })
    else known.models.push(...models)
  }

  *changes(shownModel: (name: string) => string): Steps<readonly RequestChange[]> {
    const products = new Map<string, Product>()
    for (const { outcome, keys, models } of this.#keyed.values()) {
      const id = `${JSON.stringify(outcome)} ${models.join('\n')}`
      const known = products.get(id)
      if (known === undefined) products.set(id, { outcome, keys: [...keys], models })
      else known.keys.push(...keys)
      yield
    }
    const changes: RequestChange[] = []
    for (const { outcome, keys, models } of products.values()) {
      changes.push({ about: 'requests', keys, models: models.map(shownModel), ...outcome })
      yield
    }
    return changes
  }

  #numberOf(keys: readonly string[]): number {
    const known = this.#sets.get(keys)
    if (known !== undefined) return known
    this.#keySets += 1
    this.#sets.set(keys, this.#keySets)
    return this.#keySets
  }
}

/** Upstreams' names for the model are those of another model of the class. */
function withoutNames(outcome: Outcome): Outcome {
  const short = (text: string): string => text.replaceAll(/ as \S+/g, '')
  return { ...outcome, before: short(outcome.before), after: short(outcome.after) }
}
