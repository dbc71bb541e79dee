import type { Plan } from '../../core/plan.js'
import type { Feature, Service } from '../../kernel/stages.js'
import { RetryBudget } from './budget.js'
import { RetriesStage, type Retrying } from './stage.js'

/** The budgets of the process, by upstream: those of the plan in service, and of requests that an earlier one still serves. */
class RetriesService implements Service, Retrying {
  readonly #budgets = new Map<string, RetryBudget>()
  readonly now = (): number => performance.now()
  readonly random = Math.random

  readonly budget = (upstream: string): RetryBudget => {
    let found = this.#budgets.get(upstream)
    if (found === undefined) {
      found = new RetryBudget()
      this.#budgets.set(upstream, found)
    }
    return found
  }

  adopt({ upstreams }: Plan): void {
    for (const name of this.#budgets.keys()) if (!upstreams.has(name)) this.#budgets.delete(name)
  }
}

/** Whether and when a failed attempt is followed by another: `retry` in the configuration. */
export const retries: Feature<RetriesService> = {
  name: 'retries',
  open: () => new RetriesService(),
  compile: ({ route }, service) =>
    route === undefined || route.lane === 'answer' ? undefined : new RetriesStage(route, service),
}
