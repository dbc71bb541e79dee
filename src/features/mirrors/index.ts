import type { Plan } from '../../core/plan.js'
import { mayCopy } from '../../core/retry.js'
import type { Kernel } from '../../kernel/kernel.js'
import type { Feature, Service } from '../../kernel/stages.js'
import { Copies, type MirrorStanding } from './copies.js'
import { mirrorsStage } from './stage.js'

export type { MirrorStanding } from './copies.js'

class MirrorsService implements Service {
  readonly copies = new Copies()

  constructor({ generation }: Kernel) {
    this.adopt(generation.plan)
  }

  snapshot(): readonly MirrorStanding[] {
    return this.copies.snapshot()
  }

  adopt({ mirrors }: Plan): void {
    this.copies.keep(mirrors)
  }
}

/** Copies of requests for other models. Before all features that narrow candidates: what they say holds for copies, too. */
export const mirrors: Feature<MirrorsService> = {
  name: 'mirrors',
  open: kernel => new MirrorsService(kernel),
  compile({ plan, route }, { copies }) {
    return plan.mirrors.length > 0 && route !== undefined && mayCopy(route) ? mirrorsStage(route, copies) : undefined
  },
}
