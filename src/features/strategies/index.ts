import type { Plan } from '../../core/plan.js'
import type { Feature, Service } from '../../kernel/stages.js'
import { StrategiesStage } from './stage.js'
import { Targets } from './target.js'

class StrategiesService implements Service {
  readonly targets = new Targets()

  adopt({ upstreams }: Plan): void {
    this.targets.keep(upstreams)
  }
}

/** Which target of a model is asked first. Plans in which no model says that have no stage of it. */
export const strategies: Feature<StrategiesService> = {
  name: 'strategies',
  open: () => new StrategiesService(),
  compile({ plan, route }, { targets }) {
    return plan.hasRouting && route?.model !== undefined ? new StrategiesStage(targets) : undefined
  },
}
