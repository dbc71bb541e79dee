import type { Feature } from '../../kernel/stages.js'
import { fallbacksStage, heldBackStage } from './stage.js'

/** Other models for requests that fail for a reason. Before all features that narrow candidates: what they say holds for these, too. */
export const fallbacks: Feature = {
  name: 'fallbacks',
  compile: ({ plan, route }) => (plan.hasRouting && route?.model !== undefined ? fallbacksStage(route) : undefined),
}

/** Behind all features that narrow. */
export const heldBack: Feature = {
  name: 'held_back',
  compile: ({ plan, route }) => (plan.hasRouting && route?.model !== undefined ? heldBackStage : undefined),
}
