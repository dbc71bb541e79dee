import { groupsOf } from '../../../core/accounting-config.js'
import type { Bound, Tariff } from '../../../core/bounds.js'
import type { Config } from '../../../core/config.js'
import { isGlob } from '../../../core/glob.js'
import type { Plan } from '../../../core/plan.js'
import { Holders, type ModelLists } from '../callers.js'
import { named, type Rule } from '../rule.js'

export const outputWithoutBound: Rule = {
  id: 'output-without-bound',
  severity: 'note',
  finds: 'a model of text under a budget or a limit of tokens that says no `max_output`, and whose callers have none',
  why: 'Of a request that says no limit, 16,384 tokens of output are reserved, and the model may write more.',
  mend: 'Write `max_output` at the model, or in the `limits` of keys. One finding names all models; globs are not looked at.',
  *check({ config, plan }) {
    if (config.accounting === undefined) return
    const callers = new Holders(callersOf(config))
    const open = Object.keys(config.models).filter(model => !isGlob(model) && isOpen(model, callers, plan))
    const [first] = open
    if (first === undefined) return
    const message = `nothing says how much ${named(open)} may write: an answer may cost more than the budget or the limit has left`
    yield { path: ['models', first], message }
  },
}

/** Callers that may use the same models. */
interface Caller {
  readonly lists: ModelLists
  readonly bounds: Bound[]
}

/**
 * Keys that pay for tokens and have no limit of output, those with the same lists of models as one. Callers with tokens of a provider
 * have the limits of groups.
 */
function callersOf({ keys, groups, identity }: Config): readonly Caller[] {
  const callers = new Map<string, Caller>()
  for (const holder of [...Object.values(keys), ...(identity === undefined ? [] : Object.values(groups))]) {
    const all = [holder, ...groupsOf(holder, groups).map(([, group]) => group)]
    const limits = all.flatMap(one => one.limits ?? [])
    if ('disabled' in holder && holder.disabled) continue
    if (limits.some(({ max_output }) => max_output !== undefined)) continue
    const bounds = limits.flatMap(one => one.bounds).filter(({ unit }) => unit !== 'requests')
    if (bounds.length === 0) continue
    const lists = all.flatMap(({ models }) => (models === undefined ? [] : [models]))
    const text = JSON.stringify(lists)
    const caller = callers.get(text) ?? { lists, bounds: [] }
    callers.set(text, caller)
    for (const bound of bounds) if (caller.bounds.every(({ unit }) => unit !== bound.unit)) caller.bounds.push(bound)
  }
  return [...callers.values()]
}

/** Whether a route on which requests may name a limit leads to a target that reserves by guess. */
function isOpen(model: string, callers: Holders<Caller>, { routes }: Plan): boolean {
  const tariffs = routes.flatMap(route => {
    if (route.model === undefined || !route.protocol?.amounts?.output.length) return []
    const exchanges = route.resolve(model)?.groups.flatMap(group => group.exchanges) ?? []
    return exchanges.flatMap(({ tariff }) => (tariff === undefined || tariff.maxOutput !== undefined ? [] : [tariff]))
  })
  if (tariffs.length === 0) return false
  const counts = ({ price }: Tariff, bounds: readonly Bound[]): boolean =>
    bounds.some(({ unit }) => unit === 'tokens' || (unit === 'budget' && (price?.output ?? 0) > 0))
  const isCounted = tariffs.some(one => one.scopes.some(({ limits }) => counts(one, limits.bounds)))
  if (isCounted) return true
  for (const { bounds } of callers.of(model)) if (tariffs.some(one => counts(one, bounds))) return true
  return false
}
