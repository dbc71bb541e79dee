import { LruCache } from '../../core/lru.js'
import type { Exchange, Plan } from '../../core/plan.js'
import { nameOf } from '../../core/rendezvous.js'
import { mayHedge } from '../../core/retry.js'
import type { Feature, Service } from '../../kernel/stages.js'
import { hedgesStage } from './stage.js'
import { TargetTimes } from './times.js'

/** Targets that are known at a time; those that are no longer asked go first. Each takes some 4 KiB. */
const MAX_TARGETS = 1000

/** The times of this process. They survive reloads. */
class HedgesService implements Service {
  readonly #known = new LruCache<TargetTimes>(MAX_TARGETS)
  readonly #ofExchange = new WeakMap<Exchange, TargetTimes>()

  readonly timesOf = (exchange: Exchange): TargetTimes => {
    const found = this.#ofExchange.get(exchange)
    if (found !== undefined) return found
    const name = `${exchange.upstream.definition}\0${nameOf(exchange)}`
    const times = this.#known.get(name) ?? new TargetTimes(exchange.upstream.name)
    this.#known.set(name, times)
    this.#ofExchange.set(exchange, times)
    return times
  }

  adopt({ upstreams }: Plan): void {
    this.#known.prune(({ upstream }) => !upstreams.has(upstream))
  }
}

/** A second target is asked beside one that does not answer in its time: `hedge` of a model. */
export const hedges: Feature<HedgesService> = {
  name: 'hedges',
  open: () => new HedgesService(),
  compile: ({ plan, route }, { timesOf }) =>
    plan.hasHedges && route !== undefined && mayHedge(route) ? hedgesStage(timesOf) : undefined,
}
