import { hearStrays } from '../../core/stray-faults.js'
import type { Feature, Service } from '../../kernel/stages.js'

/** Reports what modules of the user's own begin, and what then fails beside their calls. */
export const modules: Feature<Service> = {
  name: 'modules',
  open(kernel) {
    const leave = hearStrays((module, cause) => kernel.onNotice({ module, cause }, 'a module failed beside its calls'))
    return { close: async () => leave() }
  },
  compile: () => undefined,
}
