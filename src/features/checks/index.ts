import type { Feature } from '../../kernel/stages.js'
import { Checks } from './checks.js'
import { checksStage } from './stage.js'

/**
 * Checks of requests by modules of the user's own, once the model is known and before an upstream is chosen. What the gateway
 * answers by itself is not checked.
 */
export const checks: Feature<Checks> = {
  name: 'checks',
  open: kernel => new Checks(kernel),
  compile: ({ plan, route }, service) => (route === undefined ? undefined : checksStage(route, plan.checks, service)),
}
