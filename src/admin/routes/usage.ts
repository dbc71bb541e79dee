import type { Bound, Scope } from '../../core/bounds.js'
import { MICRO_PER_USD } from '../../core/cost.js'
import { RANGES } from '../../features/console/history.js'
import type { Uses } from '../../features/console/service.js'
import type { ShownLimit } from '../../features/limits/usage.js'
import { Windows } from '../../features/limits/windows.js'
import { AdminError, type AdminRoute, objectOf, type Schema, TEXT } from '../route.js'
import { scopesNamed } from './limits.js'
import { KINDS, rangeOf } from './live.js'

type UsageScope = keyof typeof KINDS
const SCOPES = Object.keys(KINDS) as readonly UsageScope[]
const NUMBERS: Schema = { type: 'array', items: { type: 'number' } }
const MEASURED: Schema = { type: 'array', items: { type: ['number', 'null'] } }

export const usage: AdminRoute = {
  method: 'GET',
  path: '/admin/usage',
  summary:
    'What a key, group, model or upstream has used in each step of a range, how many of its requests failed, and for each of its bounds how much of it was used at the end of the step. null: its window began before the range. Budgets in USD; bounds whose window is shorter than a step are left out. p50, p95: of the time to the first byte, of upstreams of an attempt, in milliseconds; null: nothing was measured.',
  query: { scope: { type: 'string', enum: [...SCOPES] }, name: TEXT, range: { type: 'string', enum: [...RANGES] } },
  status: 200,
  answer: objectOf(
    {
      ...{ scope: TEXT, name: TEXT, range: TEXT, zone: TEXT },
      step: { type: 'number', description: 'Seconds.' },
      t: NUMBERS,
      ...{ requests: NUMBERS, failed: NUMBERS, tokens: NUMBERS, usd: NUMBERS },
      ...{ p50: MEASURED, p95: MEASURED },
      bounds: {
        type: 'array',
        items: objectOf({ unit: TEXT, window: TEXT, limit: { type: 'number' }, used: { type: 'array' } }),
      },
    },
    ['step', 't', 'bounds'],
  ),
  async handle({ query: { scope = 'key', name, range: asked } }, host) {
    const range = rangeOf(asked)
    const kind = SCOPES.find(one => one === scope)
    if (kind === undefined)
      throw new AdminError(400, 'invalid_parameter', `scope: expected one of ${SCOPES.join(', ')}`)
    if (name === undefined) throw new AdminError(400, 'invalid_parameter', 'name: whose use?')
    const uses = await host.watched().uses(KINDS[kind], name, range)
    const scopes = (await scopesNamed(kind, name, host)).filter(one => one.type === kind && one.name === name)
    const limits = await host.limits(scopes)
    const zone = host.plan.accounting?.timeZone ?? 'UTC'
    const windows = new Windows(zone)
    const { stepMs, times, requests, failed, tokens, budget, p50, p95 } = uses
    return {
      ...{ scope, name, range, zone, step: stepMs / 1000, t: times.map(at => at / 1000) },
      ...{ requests, failed, tokens, usd: budget.map(micro => micro / MICRO_PER_USD), p50, p95 },
      bounds: scopes.flatMap(({ limits: { bounds } }: Scope, at) =>
        bounds.flatMap(bound => overTime(bound, uses, limits[at] ?? [], windows)),
      ),
    }
  },
}

/** How much of a bound was used at the end of each step. */
function overTime(bound: Bound, uses: Uses, shown: readonly ShownLimit[], windows: Windows): readonly object[] {
  const { unit, window, amount } = bound
  const { times, stepMs } = uses
  const current = shown.find(one => one.unit === unit && one.window === window)
  const first = windows.find(window, times[0] ?? 0)
  if (current === undefined || first.end - first.start < stepMs) return []
  const per = unit === 'budget' ? MICRO_PER_USD : 1
  const starts = times.map(at => windows.find(window, at).start)
  const added = uses[unit]
  const used: (number | null)[] = []
  for (const [at, start] of starts.entries()) {
    const isNew = at === 0 || start !== starts[at - 1]
    // Of a window that began before the range, the beginning is not known.
    const before = isNew ? (start < (times[at] ?? 0) && at === 0 ? null : 0) : (used[at - 1] ?? null)
    used.push(before === null ? null : before + (added[at] ?? 0) / per)
  }
  // The window of now is known: from its end backwards.
  let left = current.used
  for (let at = times.length - 1; at >= 0 && starts[at] === starts.at(-1); at--) {
    used[at] = Math.max(0, left)
    left -= (added[at] ?? 0) / per
  }
  return [{ unit, window, limit: amount / per, used }]
}
