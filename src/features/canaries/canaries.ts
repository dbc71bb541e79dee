import type { Canary } from '../../core/strategy.js'
import { CanaryWatch, type WatchStanding } from './watch.js'

export interface CanaryStanding extends WatchStanding {
  /** The model that has the canary. */
  readonly of: string
  readonly to: string
}

/** A canary, and what is known of it. */
export interface Known {
  /** The same in all processes that have it. */
  readonly name: string
  readonly canary: Canary
  readonly watch: CanaryWatch
}

/** The canaries of this process. One entry for each of the plan in service; it survives reloads that leave the canary as it is. */
export class Canaries {
  readonly #known = new Map<string, Known>()
  #ofCanary = new WeakMap<Canary, Known>()
  /** Called for each attempt that is compared. */
  onOutcome: (canary: Canary, isCanary: boolean, hasFailed: boolean) => void = () => undefined

  of(canary: Canary): Known {
    const found = this.#ofCanary.get(canary)
    if (found !== undefined) return found
    const name = nameOf(canary)
    const known = this.#known.get(name) ?? { name, canary, watch: new CanaryWatch(canary.share) }
    this.#known.set(name, known)
    this.#ofCanary.set(canary, known)
    return known
  }

  named(name: string): Known | undefined {
    return this.#known.get(name)
  }

  get all(): readonly Known[] {
    return [...this.#known.values()]
  }

  snapshot(): readonly CanaryStanding[] {
    return this.all.map(({ canary: { of, to }, watch }) => ({ of, to, ...watch.standing }))
  }

  /** Knows these, and forgets the others. */
  keep(canaries: readonly Canary[]): void {
    const kept = new Set(canaries.map(nameOf))
    this.#ofCanary = new WeakMap()
    for (const one of canaries) this.of(one)
    for (const name of this.#known.keys()) if (!kept.has(name)) this.#known.delete(name)
  }
}

function nameOf({ of, to, share, by }: Canary): string {
  return JSON.stringify([of, to, share, by])
}
