import { type GroupConfig, groupsOf } from '../core/accounting-config.js'
import type { KeyConfig } from '../core/config.js'
import { overlap } from '../core/glob.js'
import { mayReach, regionsInCommon } from '../core/region.js'
import type { Context } from './context.js'
import type { Site } from './document.js'
import type { Entries } from './entries.js'
import type { ReadModel } from './models.js'
import type { RawGroup, RawKey } from './raw.generated.js'
import { listed, quoted } from './report.js'
import { suggest } from './suggest.js'
import type { ReadUpstream } from './upstreams.js'

interface Parts {
  readonly keys: Readonly<Record<string, KeyConfig>>
  readonly groups: Readonly<Record<string, GroupConfig>>
  readonly keyEntries: Entries<RawKey>
  readonly groupEntries: Entries<RawGroup>
  readonly models: ReadonlyMap<string, ReadModel>
  readonly upstreams: ReadonlyMap<string, ReadUpstream>
}

/** Each key with regions must have a model with a target in one of them. A file without regions costs nothing. */
export function checkRegions(parts: Parts, context: Context): void {
  const { keyEntries, groupEntries, keys, groups, upstreams, models } = parts
  const holders = [...keyEntries.values(), ...groupEntries.values()]
  if (!holders.some(({ value }) => value?.regions !== undefined)) return
  const known = new Set([...upstreams.values()].flatMap(({ config }) => config.region ?? []))
  for (const { value, site } of holders) warnOfUnknown(value?.regions ?? [], site.child('regions'), known, context)
  const served = new Map([...models].map(([name, model]) => [name, regionsOf(model, upstreams)]))
  for (const { name, value, site } of keyEntries.values()) {
    const key = keys[name]
    if (key !== undefined && value !== undefined) checkKey(key, groups, served, site, context)
  }
}

/** Regions of the model's targets; a target without one counts for no key that has regions. */
function regionsOf({ config }: ReadModel, upstreams: Parts['upstreams']): readonly string[] {
  return config.targets.flatMap(({ upstream }) => upstreams.get(upstream)?.config.region ?? [])
}

function checkKey(
  key: KeyConfig,
  groups: Parts['groups'],
  served: ReadonlyMap<string, readonly string[]>,
  site: Site,
  { report }: Context,
): void {
  const chain = [key, ...groupsOf(key, groups).map(([, group]) => group)]
  const allowed = regionsInCommon(chain.map(({ regions }) => regions))
  if (allowed === undefined) return
  const place = site.child(key.regions === undefined ? 'group' : 'regions')
  const from = ['upstreams', 'models', 'groups']
  if (allowed.size === 0) {
    report.error('no-region', place, 'no region is left for this key: it and its groups have none in common', { from })
    return
  }
  const lists = chain.flatMap(({ models }) => (models === undefined ? [] : [models]))
  const isServed = [...served].some(
    ([name, regions]) =>
      lists.every(list => list.some(pattern => overlap(pattern, name))) &&
      regions.some(region => mayReach(allowed, region)),
  )
  if (isServed) return
  const names = [...allowed].join(', ')
  const message = `no target of any model that this key may use is in ${names}: give such an upstream its region, or the key another one`
  report.error('no-region', place, message, { from })
}

function warnOfUnknown(regions: readonly string[], site: Site, known: ReadonlySet<string>, { report }: Context): void {
  for (const [index, region] of regions.entries()) {
    if (known.has(region)) continue
    const meant = suggest(region, known)
    const all = meant === undefined ? listed(known) : undefined
    const message = `no upstream is in the region ${quoted(region)}${all === undefined ? '' : `; there are: ${all}`}`
    report.warn('unknown-region', site.child(index), message, { meant: () => meant, of: 'upstreams' })
  }
}
