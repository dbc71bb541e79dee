import { groupsOf } from '../../../core/accounting-config.js'
import { hasBudget, type ScopeLimits, type Tariff } from '../../../core/bounds.js'
import type { Config } from '../../../core/config.js'
import { isGlob } from '../../../core/glob.js'
import type { Plan } from '../../../core/plan.js'
import { Holders, type ModelLists } from '../callers.js'
import { type Linted, MAX_NAMED, named, type Rule } from '../rule.js'

export const budgetWithoutPrices: Rule = {
  id: 'budget-without-prices',
  severity: 'warning',
  finds: 'a budget that does not count models, since they have no price and `unpriced: free` lets them pass',
  why: 'The budget does not bound what these models cost. (Without `unpriced`, `validate` refuses such a file.)',
  mend: 'Write `prices` for the models, or `unpriced: refuse`. Globs among the models are not looked at.',
  *check({ config, plan }: Linted) {
    const holders = [...budgetsOf(config)]
    if (holders.length === 0) return
    const callers = new Holders(holders)
    for (const { model, by } of freeModels(config, plan))
      for (const holder of callers.of(model)) {
        if ((holder.unpriced ?? by) !== 'free') continue
        holder.count++
        if (holder.models.length < MAX_NAMED) holder.models.push(model)
      }
    for (const { path, models, count } of holders) {
      if (count === 0) continue
      const message = `this budget counts nothing for ${named(models, count)}: no price is known`
      yield { path: [...path, 'limits', 'budget'], message }
    }
  },
}

interface Holder {
  readonly path: readonly string[]
  readonly lists: ModelLists
  readonly unpriced: ScopeLimits['unpriced']
  /** How many its budget does not count, and the first of them. */
  count: number
  readonly models: string[]
}

function* budgetsOf({ keys, groups }: Config): Generator<Holder> {
  for (const [section, holders] of [
    ['keys', keys],
    ['groups', groups],
  ] as const) {
    for (const [name, holder] of Object.entries(holders)) {
      if (!hasBudget(holder.limits)) continue
      const all = [holder, ...groupsOf(holder, groups).map(([, group]) => group)]
      const lists = all.flatMap(({ models }) => (models === undefined ? [] : [models]))
      const unpriced = all.map(({ limits }) => limits?.unpriced).find(one => one !== undefined)
      yield { path: [section, name], lists, unpriced, count: 0, models: [] }
    }
  }
}

interface Free {
  readonly model: string
  readonly by: Tariff['unpriced']
}

/** Models with a full name that are served by some route without a price. */
function freeModels({ models }: Config, { routes }: Plan): readonly Free[] {
  return Object.keys(models).flatMap(model => {
    if (isGlob(model)) return []
    for (const route of routes) {
      const exchanges =
        route.model === undefined ? [] : (route.resolve(model)?.groups.flatMap(group => group.exchanges) ?? [])
      const free = exchanges.find(({ tariff }) => tariff !== undefined && tariff.price === undefined)
      if (free?.tariff !== undefined) return [{ model, by: free.tariff.unpriced }]
    }
    return []
  })
}
