import type { RetryCondition } from './limits.js'
import type { Route } from './plan.js'
import { tookNothing } from './task.js'

/** Statuses below 500 by which an upstream says that it may answer later. */
const LATER_STATUSES: ReadonlySet<number> = new Set([408, 425, 429])

/** Statuses from 500 on that stay as they are: not implemented, and HTTP version not supported. */
const LASTING_STATUSES: ReadonlySet<number> = new Set([501, 505])

const NEVER_AGAIN: ReadonlySet<RetryCondition> = new Set(['queue', 'descriptors', 'first_byte', 'silent_stream'])

/**
 * Whether requests of the route make something that would exist twice, or be charged twice for nothing, if an upstream got them
 * again: tasks, resources, pictures and films.
 */
export function makesThings({ task, resource, protocol }: Pick<Route, 'task' | 'resource' | 'protocol'>): boolean {
  const { images = [], seconds = [], batch = false } = protocol?.amounts ?? {}
  return task !== undefined || resource?.action === 'create' || images.length > 0 || seconds.length > 0 || batch
}

/**
 * Whether requests of a route may be copied: they ask in JSON for an answer that has a price by declared amounts, and nothing is kept
 * or made for them.
 */
export function mayCopy(route: Route): boolean {
  const { lane, method, model, tunnel, resource, batch, body, protocol } = route
  if (body !== 'json' || protocol?.amounts === undefined || protocol.amounts.free === true) return false
  if (lane !== 'exchange' || method !== 'POST' || model === undefined) return false
  return tunnel === undefined && resource === undefined && batch === undefined && !makesThings(route)
}

/**
 * Whether a target that has failed so may be asked again, later: the failure passes, and nothing that was made is made once
 * more. One that was silent may still be at work; where the gateway itself lacks connections, another request helps no one.
 */
export function mayAskAgain(condition: RetryCondition, isMaking: boolean): boolean {
  if (NEVER_AGAIN.has(condition)) return false
  if (isMaking) return tookNothing(condition)
  if (typeof condition !== 'number') return true
  return LATER_STATUSES.has(condition) || (condition >= 500 && !LASTING_STATUSES.has(condition))
}

/**
 * Whether a second target may be asked beside one that does not answer: not for what makes things, and not where the body is passed
 * on as it arrives.
 */
export function mayHedge(
  route: Pick<Route, 'lane' | 'tunnel' | 'model' | 'body' | 'task' | 'resource' | 'protocol'>,
): boolean {
  const { lane, tunnel, model, body } = route
  const isHeld = body === 'json'
  return lane === 'exchange' && isHeld && tunnel === undefined && model !== undefined && !makesThings(route)
}
