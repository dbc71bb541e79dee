import type { Miss } from '../../core/plan.js'
import type { Feature } from '../../kernel/stages.js'
import { authenticate } from './authenticate.js'

/** Finds callers by the keys of the plan and of the store, where the route reads them. */
export const keys: Feature = {
  name: 'keys',
  compile: ({ kernel, plan, route }) => ({
    name: 'keys',
    identify: call =>
      authenticate(call.request, call.query, (route ?? (call.match as Miss)).caller, kernel.callers, plan),
  }),
}
