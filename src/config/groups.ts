import type { GroupConfig } from '../core/accounting-config.js'
import { type Context, interpolate } from './context.js'
import type { Site } from './document.js'
import type { Entries } from './entries.js'
import { KnownModels } from './known-models.js'
import { readNetwork } from './listen.js'
import type { RawGroup, RawKey } from './raw.generated.js'
import { listed, quoted } from './report.js'
import { readScopeLimits } from './scope-limits.js'
import { suggest } from './suggest.js'

/** Most groups within each other: one commit of the store holds the budgets of several tasks, each with those of all its groups. */
const MAX_NESTED_GROUPS = 64

/** Groups with their limits read. */
export function readGroups(
  entries: Entries<RawGroup>,
  models: readonly string[],
  context: Context,
): Record<string, GroupConfig> {
  const groups: Record<string, GroupConfig> = Object.create(null)
  const known = new KnownModels(models)
  for (const { name, site, value } of entries.values()) {
    if (value === undefined) continue
    const allowed = readModelNames(value.models, site.child('models'), known, context)
    groups[name] = {
      ...(allowed === undefined ? {} : { models: allowed }),
      ...readCallerRules(value, site, entries, context),
    }
    checkOuterGroups(name, value, site, entries, context)
  }
  return groups
}

/** What keys and groups have in common. */
export function readCallerRules(
  raw: Pick<RawKey, 'group' | 'limits' | 'routes' | 'networks' | 'priority' | 'regions'>,
  site: Site,
  groups: Entries<RawGroup>,
  context: Context,
): Pick<GroupConfig, 'group' | 'limits' | 'routes' | 'networks' | 'priority' | 'regions'> {
  const { group, routes, networks, priority, regions } = raw
  if (group !== undefined && !groups.has(group)) {
    const meant = suggest(group, groups.keys())
    const known = meant === undefined ? listed(groups.keys()) : undefined
    const message = `no group is called ${quoted(group)}${known === undefined ? '' : `; there are: ${known}`}`
    context.report.error('dangling-reference', site.child('group'), message, { meant: () => meant, of: 'groups' })
  }
  return {
    ...(group === undefined ? {} : { group }),
    ...readScopeLimits(raw.limits, site, context),
    ...(routes === undefined ? {} : { routes }),
    ...(priority === undefined ? {} : { priority }),
    ...(regions === undefined ? {} : { regions }),
    ...(networks === undefined
      ? {}
      : { networks: networks.map((one, index) => readNetwork(one, site.child('networks', index), context)) }),
  }
}

/** A circle is reported once, at its group that is declared first. */
function checkOuterGroups(
  name: string,
  raw: RawGroup,
  site: Site,
  groups: Entries<RawGroup>,
  { report }: Context,
): void {
  const way = [name]
  for (let next = raw.group; next !== undefined; next = groups.get(next)?.value?.group) {
    if (next === name) {
      const names = [...groups.keys()].filter(one => way.includes(one))
      if (names[0] !== name) return
      const message = `groups belong to each other in a circle: ${[...way, name].join(' → ')}`
      report.error('group-cycle', site.child('group'), message)
      return
    }
    if (way.includes(next)) return
    way.push(next)
  }
  // Those within it are not reported again.
  if (way.length === MAX_NESTED_GROUPS + 1)
    report.error('nested-groups', site.child('group'), `more than ${MAX_NESTED_GROUPS} groups are within each other`)
}

/** `models` of a key or group. */
export function readModelNames(
  written: readonly string[] | undefined,
  site: Site,
  known: KnownModels,
  context: Context,
): readonly string[] | undefined {
  const models = interpolate(written, site, context)
  warnOfUnknownModels(models ?? [], site, known, context)
  return models
}

export function warnOfUnknownModels(
  patterns: readonly string[],
  site: Site,
  models: KnownModels,
  { report }: Context,
): void {
  for (const [index, pattern] of patterns.entries()) {
    if (models.has(pattern) || report.unfilled.has(pattern)) continue
    const message = `no model is called ${quoted(pattern)}, so it permits nothing`
    report.warn('unknown-model', site.child(index), message, {
      meant: () => suggest(pattern, models.names),
      of: 'models',
    })
  }
}
