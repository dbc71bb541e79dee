import { type GroupConfig, groupsOf } from '../core/accounting-config.js'
import { hasBudget } from '../core/bounds.js'
import type { KeyConfig } from '../core/config.js'
import { isGlob, overlap } from '../core/glob.js'
import type { Context } from './context.js'
import type { Site } from './document.js'
import type { ReadModel } from './models.js'
import { type Priced, TargetPrices } from './price-fit.js'
import { quoted } from './report.js'
import type { ReadUpstream } from './upstreams.js'

/** Models that one message names. */
const MAX_NAMED = 3

/** What may have limits. */
export interface Holders {
  readonly keys: Readonly<Record<string, KeyConfig>>
  readonly groups: Readonly<Record<string, GroupConfig>>
  readonly keyEntries: ReadonlyMap<string, { readonly site: Site }>
  readonly groupEntries: ReadonlyMap<string, { readonly site: Site }>
  readonly models: ReadonlyMap<string, ReadModel>
  readonly upstreams: ReadonlyMap<string, ReadUpstream>
}

type Checked = Holders & Priced

/** A model at a target without a price, where neither model nor upstream says what that means. */
interface Unpriced {
  readonly model: string
  readonly upstream: string
}

/** A budget can only hold for what has a price, or for what the files say costs nothing or is refused. */
export function checkUnpriced(checked: Checked | undefined, context: Context): void {
  if (checked === undefined) return
  const { accounting, keys, groups, models, upstreams } = checked
  if (accounting.unpriced !== undefined) return
  const holders = [
    ...Object.values(keys),
    ...Object.values(groups),
    ...[...models.values(), ...upstreams.values()].map(one => one.config),
  ]
  if (!holders.some(({ limits }) => hasBudget(limits))) return
  const unpriced = unpricedOf(checked)
  if (unpriced.length === 0) return
  checkCallers(checked, unpriced, context)
  for (const [name, { config, site }] of models) {
    if (hasBudget(config.limits)) tell(site, namesOf(unpriced.filter(({ model }) => model === name)), context)
  }
  for (const [name, { config, sites }] of upstreams) {
    const [site] = sites
    if (site === undefined || !hasBudget(config.limits)) continue
    tell(site, namesOf(unpriced.filter(({ upstream }) => upstream === name)), context)
  }
}

function unpricedOf(checked: Checked): readonly Unpriced[] {
  const { models, upstreams } = checked
  const prices = new TargetPrices(checked)
  const found: Unpriced[] = []
  for (const [model, { config }] of models) {
    if (config.limits?.unpriced !== undefined) continue
    for (const { upstream, as = model } of config.targets) {
      const server = upstreams.get(upstream)?.config
      // What is switched off serves no one.
      if (server === undefined || server.off !== undefined || server.limits?.unpriced !== undefined) continue
      const price = prices.find(upstream, as, model)
      if (price === undefined || !prices.fits(price, upstream)) found.push({ model, upstream })
    }
  }
  return found
}

/** The budgets of a key and of its groups apply to the models that the key may use. */
function checkCallers(
  { keys, groups, keyEntries, groupEntries }: Checked,
  unpriced: readonly Unpriced[],
  context: Context,
): void {
  const names = namesOf(unpriced)
  const reached = new Map<string, readonly string[]>()
  const ofGroups = new Map<string, Set<string>>()
  for (const [name, key] of Object.entries(keys)) {
    const chain = groupsOf(key, groups)
    if (![key, ...chain.map(([, group]) => group)].some(({ limits }) => hasBudget(limits))) continue
    const lists = [key.models, ...chain.flatMap(([, { models }]) => (models === undefined ? [] : [models]))]
    const text = JSON.stringify(lists)
    const met =
      reached.get(text) ?? names.filter(model => lists.every(list => list.some(pattern => overlap(pattern, model))))
    reached.set(text, met)
    const says = [key, ...chain.map(([, group]) => group)].map(({ limits }) => limits?.unpriced !== undefined)
    const site = keyEntries.get(name)?.site
    if (site !== undefined && hasBudget(key.limits) && !says.includes(true)) tell(site, met, context)
    for (const [index, [groupName, group]] of chain.entries()) {
      if (!hasBudget(group.limits) || says.slice(index + 1).includes(true)) continue
      const set = ofGroups.get(groupName) ?? new Set()
      ofGroups.set(groupName, set)
      for (const model of met) set.add(model)
    }
  }
  for (const [name, set] of ofGroups) {
    const site = groupEntries.get(name)?.site
    if (site !== undefined) tell(site, [...set], context)
  }
}

function namesOf(unpriced: readonly Unpriced[]): readonly string[] {
  return [...new Set(unpriced.map(({ model }) => model))]
}

function tell(site: Site, models: readonly string[], { report }: Context): void {
  const [first] = models
  if (first === undefined) return
  const named = models.slice(0, MAX_NAMED).map(quoted).join(', ')
  const more = models.length > MAX_NAMED ? ` and ${models.length - MAX_NAMED} more` : ''
  // One price for all that a glob may mean is no one's.
  const cure = isGlob(first)
    ? 'write unpriced: refuse beside the budget (models with a known price are served), or unpriced: free'
    : `write prices: { ${quoted(first)}: { input: 1.00, output: 2.00 } }, or beside the budget unpriced: free or unpriced: refuse`
  report.error('unpriced-model', site.child('limits', 'budget'), `no price is known for ${named}${more}: ${cure}`, {
    from: ['kinds', 'prices'],
  })
}
