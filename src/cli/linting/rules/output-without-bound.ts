import { groupsOf } from '../../../core/accounting-config.js'
import type { ScopeLimits } from '../../../core/bounds.js'
import type { Config } from '../../../core/config.js'
import { isGlob } from '../../../core/glob.js'
import type { Plan } from '../../../core/plan.js'
import { mayUse } from '../callers.js'
import { named, type Rule } from '../rule.js'

export const outputWithoutBound: Rule = {
  id: 'output-without-bound',
  severity: 'note',
  finds: 'a model of text under a budget or a limit of tokens that says no `max_output`, and whose callers have none',
  why: 'Of a request that says no limit, 16,384 tokens of output are reserved, and the model may write more.',
  mend: 'Write `max_output` at the model, or in the `limits` of keys. One finding names all models; globs are not looked at.',
  *check({ config, plan }) {
    const callers = [...callersOf(config)]
    const open = Object.keys(config.models).filter(model => !isGlob(model) && isOpen(model, callers, plan))
    const [first] = open
    if (first === undefined) return
    const message = `nothing says how much ${named(open)} may write: an answer may cost more than the budget or the limit has left`
    yield { path: ['models', first], message }
  },
}

interface Caller {
  readonly lists: readonly (readonly string[])[]
  readonly limits: readonly ScopeLimits[]
}

/** Keys without a limit of output. Callers with tokens of a provider have the limits of groups. */
function* callersOf({ keys, groups, identity }: Config): Generator<Caller> {
  for (const holder of [...Object.values(keys), ...(identity === undefined ? [] : Object.values(groups))]) {
    const all = [holder, ...groupsOf(holder, groups).map(([, group]) => group)]
    const limits = all.flatMap(one => one.limits ?? [])
    if ('disabled' in holder && holder.disabled) continue
    if (limits.some(({ max_output }) => max_output !== undefined)) continue
    yield { lists: all.flatMap(({ models }) => (models === undefined ? [] : [models])), limits }
  }
}

/** Whether a route on which requests may name a limit leads to a target that reserves by guess. */
function isOpen(model: string, callers: readonly Caller[], { routes }: Plan): boolean {
  const theirs = callers.filter(({ lists }) => mayUse(lists, model)).flatMap(({ limits }) => limits)
  return routes.some(route => {
    if (route.model === undefined || !route.protocol?.amounts?.output.length) return false
    const exchanges = route.resolve(model)?.groups.flatMap(group => group.exchanges) ?? []
    return exchanges.some(({ tariff }) => {
      if (tariff === undefined || tariff.maxOutput !== undefined) return false
      const isPriced = (tariff.price?.output ?? 0) > 0
      const all = [...tariff.scopes.map(({ limits }) => limits), ...theirs]
      return all
        .flatMap(limits => limits.bounds)
        .some(({ unit }) => unit === 'tokens' || (unit === 'budget' && isPriced))
    })
  })
}
