import type { RequestChange } from './change.js'
import { type Decision, UNPRICED } from './decision.js'
import { differing } from './fact-lines.js'
import type { Terms } from './terms.js'

/** A difference of requests, without whose they are. */
export type Outcome = Omit<RequestChange, 'about' | 'keys' | 'models'>

/** Lines of one difference that are listed. */
const MAX_LINES = 12
/** The key may not use the route: its own terms refuse, not what serves. */
const FORBIDDEN = '403'

/** What a difference that is of bounds alone says: the entry of the key or group has the same for people. */
export const BOUNDS = 'bounds'

/** Empty where both sides do the same. Requests that both sides refuse are the same, for any reason. */
export function outcomesOf(
  before: Decision,
  after: Decision,
  asked: { readonly was: Terms; readonly is: Terms; readonly name: string },
): readonly Outcome[] {
  const isServed = [before, after].map(({ refused }) => refused === undefined)
  if (!isServed.includes(true)) return []
  return isServed.includes(false) ? [accessOutcome(before, after, asked)] : servedOutcomes(before, after, asked)
}

/** One side refuses. */
function accessOutcome(
  before: Decision,
  after: Decision,
  { was, is, name }: { readonly was: Terms; readonly is: Terms; readonly name: string },
): Outcome {
  const isAllowed = is.caller !== undefined && (name === '' || is.caller.may(name))
  const isOwnBudget = after.refused === UNPRICED && was.bounds !== is.bounds
  const isUnserved = isUnreachable(after.refused) && isAllowed && !isOwnBudget
  return { routes: [], before: before.shown, after: after.shown, what: [], marks: isUnserved ? ['unreachable'] : [] }
}

/** Whether it is refused, and not because of the key's own terms. */
export function isUnreachable(result: Decision['facts'][number] | undefined): boolean {
  return typeof result === 'string' && (result === UNPRICED || !result.startsWith(FORBIDDEN))
}

function servedOutcomes(
  before: Decision,
  after: Decision,
  { was, is }: { readonly was: Terms; readonly is: Terms },
): readonly Outcome[] {
  const lines = differing(before.facts, after.facts)
  const bounds = [was.bounds || 'none', is.bounds || 'none'] as const
  const bound: Outcome = { routes: [], before: bounds[0], after: bounds[1], what: [BOUNDS], marks: [] }
  const bounded = bounds[0] === bounds[1] ? [] : [bound]
  if (lines.length === 0) return bounded
  const isUnserved = after.facts.some((one, at) => isUnreachable(one) && typeof before.facts[at] === 'object')
  const drops = [...after.lost].filter(one => !before.lost.has(one))
  const way: Outcome = {
    routes: [],
    before: before.shown,
    after: after.shown,
    what: lines.length > MAX_LINES ? [...lines.slice(0, MAX_LINES), `and ${lines.length - MAX_LINES} more`] : lines,
    ...(drops.length > 0 ? { drops } : {}),
    marks: [...(drops.length > 0 ? ['loss' as const] : []), ...(isUnserved ? ['unreachable' as const] : [])],
  }
  return [way, ...bounded]
}
