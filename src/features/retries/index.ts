import { LruCache } from '../../core/lru.js'
import type { Plan, Upstream } from '../../core/plan.js'
import type { Feature, Service } from '../../kernel/stages.js'
import { RetryBudget } from './budget.js'
import { RetriesStage, type Retrying } from './stage.js'

/** Upstreams whose budgets are known at a time; those that are no longer asked go first. */
const MAX_UPSTREAMS = 10_000

interface Known {
  readonly upstream: string
  readonly budget: RetryBudget
}

/** The budgets of the process, by upstream. Plans whose upstream of one name differs have one for each. */
class RetriesService implements Service, Retrying {
  readonly #known = new LruCache<Known>(MAX_UPSTREAMS / 2)
  readonly #ofUpstream = new WeakMap<Upstream, RetryBudget>()
  readonly now = (): number => performance.now()
  readonly random = Math.random

  readonly budget = (upstream: Upstream): RetryBudget => {
    const found = this.#ofUpstream.get(upstream)
    if (found !== undefined) return found
    const { name, definition } = upstream
    const key = `${name}\n${definition}`
    const { budget } = this.#known.get(key) ?? { budget: new RetryBudget() }
    this.#known.set(key, { upstream: name, budget })
    this.#ofUpstream.set(upstream, budget)
    return budget
  }

  adopt({ upstreams }: Plan): void {
    this.#known.prune(({ upstream }) => !upstreams.has(upstream))
  }
}

/** Whether and when a failed attempt is followed by another: `retry` in the configuration. */
export const retries: Feature<RetriesService> = {
  name: 'retries',
  open: () => new RetriesService(),
  compile: ({ route }, service) =>
    route === undefined || route.lane === 'answer' ? undefined : new RetriesStage(route, service),
}
