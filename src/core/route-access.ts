import type { CallerPolicy } from './bounds.js'
import type { Route } from './plan.js'
import { routeForbidden } from './refusals.js'

/** Every key may see what is left of its limits, and what it may do. */
const OPEN_ANSWERS: ReadonlySet<Route['answer']> = new Set(['usage', 'openapi'])

/** Throws `forbidden` if the caller's key or groups exclude the route. */
export function checkRoute({ mayUse }: CallerPolicy, { id, answer }: Route): void {
  if (!OPEN_ANSWERS.has(answer) && mayUse?.(id) === false) throw routeForbidden(id)
}

/**
 * Whether requests of a route are ones that upstreams are asked for. Lists of models, stored objects and the state of tasks
 * cost nothing and count as nothing: the limits of keys, also that of bodies, do not concern them.
 */
export function asksUpstream({ lane, task, model, answer }: Route): boolean {
  if (lane === 'answer') return model !== undefined && answer !== 'model'
  return lane === 'exchange' || task?.action === 'submit'
}

/** Whether requests of a route cost nothing: those without a model do, unless they are batches. */
export function isFree({ protocol, model, task }: Pick<Route, 'protocol' | 'model' | 'task'>): boolean {
  const { free = false, batch = false } = protocol?.amounts ?? {}
  return free || (!batch && model === undefined && task === undefined)
}
