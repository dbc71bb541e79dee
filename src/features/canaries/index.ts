import type { Plan } from '../../core/plan.js'
import type { Kernel } from '../../kernel/kernel.js'
import type { Feature, Service } from '../../kernel/stages.js'
import { Canaries, type CanaryStanding } from './canaries.js'
import { CanarySharing } from './sharing.js'
import { canariesStage, noticeRest } from './stage.js'

export type { CanaryStanding } from './canaries.js'

class CanariesService implements Service {
  /** Moments are the same in all processes of a machine, and continue evenly where its clock is set. */
  readonly now = (): number => performance.timeOrigin + performance.now()
  readonly canaries = new Canaries()

  readonly sharing: CanarySharing

  constructor(kernel: Kernel) {
    this.adopt(kernel.generation.plan)
    this.sharing = new CanarySharing(kernel.peers, this.canaries, this.now, known => noticeRest(kernel, known))
  }

  snapshot(): readonly CanaryStanding[] {
    return this.canaries.snapshot()
  }

  adopt({ canaries }: Plan): void {
    this.canaries.keep(canaries)
  }
}

/**
 * Shares of requests that try another target. Before the features that narrow candidates: what they say holds for canaries, too.
 * `strategies` puts the candidates in their order.
 */
export const canaries: Feature<CanariesService> = {
  name: 'canaries',
  open: kernel => new CanariesService(kernel),
  compile({ plan, route }, service) {
    if (plan.canaries.length === 0 || route?.model === undefined || route.lane === 'answer') return undefined
    return canariesStage(route, service)
  },
}
