import type { CallerPolicy } from './bounds.js'
import type { Route } from './plan.js'
import { routeForbidden } from './refusals.js'

/** Throws `forbidden` if the caller's key or groups exclude the route. Every key may see what is left of its limits. */
export function checkRoute({ mayUse }: CallerPolicy, { id, answer }: Route): void {
  if (answer !== 'usage' && mayUse?.(id) === false) throw routeForbidden(id)
}

/**
 * Whether requests of a route are ones that upstreams are asked for. Lists of models, stored objects and the state of tasks
 * cost nothing and count as nothing: the limits of keys, also that of bodies, do not concern them.
 */
export function asksUpstream({ lane, task, model, answer }: Route): boolean {
  if (lane === 'answer') return model !== undefined && answer !== 'model'
  return lane === 'exchange' || task?.action === 'submit'
}
