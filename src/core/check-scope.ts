import type { CheckConfig } from './check.js'
import { Glob } from './glob.js'
import type { Route } from './plan.js'
import { asksUpstream } from './route-access.js'

/** The checks that concern a route, in their order. What asks no upstream is not checked. */
export function checksOf(checks: readonly CheckConfig[], route: Route): readonly CheckConfig[] {
  if (!asksUpstream(route)) return []
  return checks.filter(({ routes }) => routes === undefined || routes.some(text => new Glob(text).matches(route.id)))
}

/** Whether a check concerns requests for the model. */
export function isForModel({ models }: CheckConfig, model: string): boolean {
  return models === undefined || models.some(text => new Glob(text).matches(model))
}
