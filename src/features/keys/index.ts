import type { Miss } from '../../core/plan.js'
import type { Kernel } from '../../kernel/kernel.js'
import type { Feature, Service } from '../../kernel/stages.js'
import { authenticate } from './authenticate.js'
import { CALLERS, Callers } from './callers.js'

class KeysService implements Service {
  readonly callers: Callers

  constructor(kernel: Kernel) {
    this.callers = new Callers(kernel.store, error => kernel.onStoreFault(error))
    kernel.provide(CALLERS, this.callers)
  }

  async close(): Promise<void> {
    this.callers.close()
  }
}

/** Finds callers by the keys of the plan and of the store, where the route reads them. */
export const keys: Feature<KeysService> = {
  name: 'keys',
  open: kernel => new KeysService(kernel),
  compile: ({ plan, route }, { callers }) => ({
    name: 'keys',
    identify: call => authenticate(call.request, call.query, (route ?? (call.match as Miss)).caller, callers, plan),
    isKey: text => callers.isKey(plan, text, Date.now()),
  }),
}
