import type { Caller } from '../../core/caller.js'
import type { Plan, Route } from '../../core/plan.js'
import type { CallerModels } from './models.js'

/** Models of a route that a caller may ask for there. */
export interface Permitted {
  readonly route: Route
  readonly names: readonly string[]
  readonly globs: readonly string[]
}

/** The routes that a caller may use and that something serves. */
export function permittedRoutes(plan: Plan, caller: Caller, models: CallerModels): readonly Permitted[] {
  const reached = plan.models.upstreams(caller) ?? new Set()
  const isOn = (name: string): boolean => reached.has(name) && plan.upstreams.get(name)?.off === undefined
  const found = plan.routes.flatMap((route): Permitted[] => {
    if (caller.policy?.mayUse?.(route.id) === false && !isAlwaysOpen(route)) return []
    if (route.requiresAllModels && !caller.models.includes('*')) return []
    const namesModel = route.model !== undefined && route.lane !== 'answer'
    const { names, globs } = namesModel ? models.served(route) : { names: [], globs: [] }
    if (namesModel) return names.length + globs.length === 0 ? [] : [{ route, names, globs }]
    const isServed = route.lane !== 'exchange' || isServedWithoutModel(route, models, isOn)
    return isServed ? [{ route, names, globs }] : []
  })
  const kinds = new Set(found.flatMap(({ route }) => (route.task?.action === 'submit' ? [route.task.kind] : [])))
  return found.filter(({ route: { task } }) => task === undefined || kinds.has(task.kind))
}

function isAlwaysOpen({ answer }: Route): boolean {
  return answer === 'usage' || answer === 'openapi'
}

/** Routes about what upstreams keep are served by those that the caller's models lead to; others have an upstream of their own. */
function isServedWithoutModel(route: Route, models: CallerModels, isOn: (upstream: string) => boolean): boolean {
  if (route.resource !== undefined) return [...route.speakers].some(isOn)
  return models.exchanges(route, '').length > 0
}
