import type { Caller } from '../core/caller.js'
import type { Config } from '../core/config.js'
import { LruCache } from '../core/lru.js'
import type { Choice, Exchange } from '../core/plan.js'
import { type AllowedRegions, mayReach } from '../core/region.js'
import { ModelIndex } from './model-index.js'

/** Cached answers per half of the cache. */
const CACHE_HALF = 1024

/** Where upstreams are: what callers with regions may reach. The one place that decides it for models and their targets. */
export class Regions {
  readonly #upstreams: Config['upstreams']
  readonly #index: ModelIndex
  readonly #reached = new LruCache<boolean>(CACHE_HALF)
  /** Regions that some upstream has. */
  readonly names: ReadonlySet<string>

  constructor(upstreams: Config['upstreams'] = {}, index = new ModelIndex()) {
    this.#upstreams = upstreams
    this.#index = index
    const names = new Set<string>()
    for (const name in upstreams) {
      const region = upstreams[name]?.region
      if (region !== undefined) names.add(region)
    }
    this.names = names
  }

  /** Whether an upstream may get requests of a caller with these regions. */
  has(upstream: string, allowed: AllowedRegions): boolean {
    return mayReach(allowed, this.#upstreams[upstream]?.region)
  }

  /** Whether some target of the model may. Models that no one has are not ours to judge. */
  reaches(model: string, allowed: NonNullable<AllowedRegions>): boolean {
    // No name holds this character: another list of regions, or another model, never has the same key.
    const key = [...allowed, model].join('\0')
    const known = this.#reached.get(key)
    if (known !== undefined) return known
    const targets = this.#index.find(model)?.model.config.targets
    const answer = targets === undefined || targets.some(({ upstream }) => this.has(upstream, allowed))
    this.#reached.set(key, answer)
    return answer
  }
}

/** The part of a choice that a caller may reach; undefined where nothing of it is left. */
export function within(choice: Choice, { regions }: Caller): Choice | undefined {
  return regions === undefined ? choice : partOf(choice, ({ upstream }) => mayReach(regions, upstream.region))
}

/** The exchanges of a choice that are kept; undefined where none is. */
export function partOf(choice: Choice, keeps: (exchange: Exchange) => boolean): Choice | undefined {
  const groups = choice.groups.flatMap(({ exchanges, weights }) => {
    const kept = exchanges.map(keeps)
    const left = { exchanges: exchanges.filter((_, at) => kept[at]), weights: weights.filter((_, at) => kept[at]) }
    return left.exchanges.length === 0 ? [] : [left]
  })
  return groups.length === 0 ? undefined : { ...choice, groups }
}
