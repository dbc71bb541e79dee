import type { Canary } from '../../core/strategy.js'
import { CanaryWatch, type WatchStanding } from './watch.js'

export interface CanaryStanding extends WatchStanding {
  /** The model that has the canary. */
  readonly of: string
  readonly to: string
}

/** The canaries of this process. One entry for each of the plan in service; it survives reloads that leave the canary as it is. */
export class Canaries {
  readonly #known = new Map<string, { readonly canary: Canary; readonly watch: CanaryWatch }>()

  of(canary: Canary): CanaryWatch {
    const name = nameOf(canary)
    const known = this.#known.get(name)
    if (known !== undefined) return known.watch
    const watch = new CanaryWatch(canary.share)
    this.#known.set(name, { canary, watch })
    return watch
  }

  snapshot(): readonly CanaryStanding[] {
    return [...this.#known.values()].map(({ canary: { of, to }, watch }) => ({ of, to, ...watch.standing }))
  }

  /** Knows these, and forgets the others. */
  keep(canaries: readonly Canary[]): void {
    const kept = new Set(canaries.map(nameOf))
    for (const one of canaries) this.of(one)
    for (const name of this.#known.keys()) if (!kept.has(name)) this.#known.delete(name)
  }
}

function nameOf({ of, to, share, by }: Canary): string {
  return JSON.stringify([of, to, share, by])
}
