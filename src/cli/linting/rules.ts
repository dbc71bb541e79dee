import type { Explained, Rule } from './rule.js'
import { budgetWithoutPrices } from './rules/budget-without-prices.js'
import { captureWithoutMasks } from './rules/capture-without-masks.js'
import { corsAnyOrigin } from './rules/cors-any-origin.js'
import { defaultModelWithoutCaller } from './rules/default-model-without-caller.js'
import { everyoneIsAProxy } from './rules/everyone-is-a-proxy.js'
import { fallbackLeavesRegion } from './rules/fallback-leaves-region.js'
import { fallbackToSameProvider } from './rules/fallback-to-same-provider.js'
import { globHidesAnother } from './rules/glob-hides-another.js'
import { groupWithoutMembers } from './rules/group-without-members.js'
import { httpToPublicAddress } from './rules/http-to-public-address.js'
import { keyExpiresSoon } from './rules/key-expires-soon.js'
import { keyNeverExpires } from './rules/key-never-expires.js'
import { keyWithoutLimits } from './rules/key-without-limits.js'
import { limitsInMemory } from './rules/limits-in-memory.js'
import { listenerWithoutTls } from './rules/listener-without-tls.js'
import { metricsOpenToNetwork } from './rules/metrics-open-to-network.js'
import { modelWithoutCaller } from './rules/model-without-caller.js'
import { modelWithoutUpstream } from './rules/model-without-upstream.js'
import { VALIDATION_RULES } from './rules/of-validation.js'
import { outputWithoutBound } from './rules/output-without-bound.js'
import { retryOfOneAttempt } from './rules/retry-of-one-attempt.js'
import { SWITCH_RULES } from './switch-off.js'

/** In the order in which documents list them. */
export const RULES: readonly Rule[] = [
  modelWithoutCaller,
  modelWithoutUpstream,
  globHidesAnother,
  defaultModelWithoutCaller,
  fallbackToSameProvider,
  fallbackLeavesRegion,
  retryOfOneAttempt,
  keyNeverExpires,
  keyExpiresSoon,
  keyWithoutLimits,
  groupWithoutMembers,
  budgetWithoutPrices,
  outputWithoutBound,
  limitsInMemory,
  httpToPublicAddress,
  listenerWithoutTls,
  everyoneIsAProxy,
  corsAnyOrigin,
  metricsOpenToNetwork,
  captureWithoutMasks,
]

/** Everything that `gateway lint` reports short of errors, and can explain. */
export const EXPLAINED: readonly Explained[] = [...RULES, ...SWITCH_RULES, ...VALIDATION_RULES]
