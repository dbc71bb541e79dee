import type { Config } from '../core/config.js'
import type { Plan } from '../core/plan.js'
import { CompiledPlan } from './compile.js'
import type { Ask } from './explain/ask.js'
import { planFacts } from './explain/plan-facts.js'
import { planText } from './explain/plan-text.js'
import { requestFacts as factsOf, type RequestFacts } from './explain/request-facts.js'
import { requestText } from './explain/request-text.js'

export type { Ask } from './explain/ask.js'
export type { ExchangeFacts } from './explain/exchange-facts.js'
export { groupFacts } from './explain/limit-facts.js'
export { modelFacts } from './explain/model-facts.js'
export { keyFacts, type PlanFacts, planFacts } from './explain/plan-facts.js'
export type { ErrorFacts, RequestFacts } from './explain/request-facts.js'
export { upstreamFacts } from './explain/upstream-facts.js'

/** The plan for people to read, without a secret in it. The same configuration gives the same text. */
export function explainPlan(plan: Plan, config: Config): string {
  return planText(planFacts(plan, config))
}

/** What would become of a request, as plain data: which exchange would serve it, or which error it would get. */
export function requestFacts(plan: Plan, ask: Ask): RequestFacts {
  if (!(plan instanceof CompiledPlan)) throw new TypeError('only a compiled plan can be explained')
  return factsOf(plan, ask)
}

/** The same for people to read. Nothing is sent. */
export function explainRequest(plan: Plan, ask: Ask): string {
  return requestText(requestFacts(plan, ask))
}
