import { type GroupConfig, groupsOf } from '../core/accounting-config.js'
import { boundText } from '../core/bound-text.js'
import type { Bound, ScopeLimits } from '../core/bounds.js'
import type { KeyConfig } from '../core/config.js'
import { Glob, isGlob, overlap } from '../core/glob.js'
import type { Context } from './context.js'
import type { Site } from './document.js'
import type { ReadModel } from './models.js'
import { type Priced, warnOfUnfitPrices } from './price-fit.js'
import { quoted } from './report.js'
import { suggest } from './suggest.js'
import type { ReadUpstream } from './upstreams.js'

interface Linted {
  readonly keys: Readonly<Record<string, KeyConfig>>
  readonly groups: Readonly<Record<string, GroupConfig>>
  readonly keyEntries: ReadonlyMap<string, { readonly site: Site }>
  readonly groupEntries: ReadonlyMap<string, { readonly site: Site }>
  readonly prices: ReadonlyMap<string, { readonly site: Site }>
  readonly models: ReadonlyMap<string, ReadModel>
  readonly upstreams: ReadonlyMap<string, ReadUpstream>
  readonly routes: readonly string[]
  readonly priced: Priced | undefined
}

const COUNTS = ['in_flight', 'streams', 'max_output', 'body'] as const
const TOGETHER = 'all of its keys together'
/** What the limits of a group are for. */
const SHARES: Readonly<Record<(typeof COUNTS)[number], string>> = {
  in_flight: TOGETHER,
  streams: TOGETHER,
  max_output: 'each answer',
  body: 'each request',
}

/** Warns of limits that never decide, of routes that no one has, and of prices of nothing. */
export function lintLimits(linted: Linted, context: Context): void {
  for (const { holder, site } of holdersOf(linted)) {
    warnOfLooseLimits(holder, groupsOf(holder, linted.groups), site, context)
  }
  warnOfIdleQueues(linted, context)
  warnOfUnknownRoutes(linted, context)
  warnOfUnusedPrices(linted, context)
  if (linted.priced !== undefined) warnOfUnfitPrices(linted.priced, context)
}

/** Keys and groups, each with its place in the file. */
function* holdersOf({
  keys,
  groups,
  keyEntries,
  groupEntries,
}: Linted): Generator<{ readonly holder: KeyConfig | GroupConfig; readonly site: Site }> {
  for (const [holders, entries] of [
    [keys, keyEntries],
    [groups, groupEntries],
  ] as const) {
    for (const [name, holder] of Object.entries(holders)) {
      const site = entries.get(name)?.site
      if (site !== undefined) yield { holder, site }
    }
  }
}

/** A limit that is looser than the same limit of a group. */
function warnOfLooseLimits(
  { limits }: { readonly limits?: ScopeLimits },
  chain: ReturnType<typeof groupsOf>,
  site: Site,
  { report }: Context,
): void {
  if (limits === undefined) return
  const warn = (place: Site, own: string, group: string, theirs: string, share = TOGETHER): void => {
    const message = `${own} has no effect: the group ${quoted(group)} allows ${theirs} for ${share}`
    report.warn('loose-limit', place, message)
  }
  for (const [group, { limits: outer }] of chain) {
    for (const bound of limits.bounds) {
      const tighter = outer?.bounds.find(
        ({ unit, window, amount }) => unit === bound.unit && window === bound.window && amount < bound.amount,
      )
      if (tighter !== undefined) warn(placeOf(bound, limits, site), boundText(bound), group, boundText(tighter))
    }
    for (const name of COUNTS) {
      const [own, theirs] = [limits[name], outer?.[name]]
      if (own !== undefined && theirs !== undefined && theirs < own)
        warn(site.child('limits', name), String(own), group, String(theirs), SHARES[name])
    }
  }
}

/** Bounds of one unit are in the order in which they are written, alone or as a list. */
function placeOf(bound: Bound, { bounds }: ScopeLimits, site: Site): Site {
  const index = bounds.filter(({ unit }) => unit === bound.unit).indexOf(bound)
  const item = site.child('limits', bound.unit, index)
  return item.document.tree.has(item.path) ? item : site.child('limits', bound.unit)
}

/** A queue where nothing makes requests wait: neither its holder nor what serves together with it has a bound. */
function warnOfIdleQueues({ models, upstreams }: Linted, { report }: Context): void {
  const warn = (place: Site): void =>
    report.warn('idle-queue', place.child('limits', 'queue'), 'no limit is here that requests could wait for')
  const modelsOf = new Map<string, ReadModel[]>()
  for (const model of models.values()) {
    const { limits, targets } = model.config
    const servers = targets.map(({ upstream }) => upstreams.get(upstream)?.config.limits)
    if (isIdle([limits, ...servers])) warn(model.site)
    for (const { upstream } of targets) modelsOf.set(upstream, [...(modelsOf.get(upstream) ?? []), model])
  }
  for (const [name, { config, sites }] of upstreams) {
    const served = modelsOf.get(name) ?? []
    const [site] = sites
    if (site !== undefined && isIdle([config.limits, ...served.map(model => model.config.limits)])) warn(site)
  }
}

/** Whether the first of these has a queue, and none a bound. */
function isIdle(all: readonly (ScopeLimits | undefined)[]): boolean {
  const isBounding = (limits: ScopeLimits | undefined): boolean =>
    limits !== undefined && (limits.bounds.length > 0 || limits.in_flight !== undefined || limits.streams !== undefined)
  return all[0]?.queue !== undefined && !all.some(isBounding)
}

function warnOfUnknownRoutes(linted: Linted, { report }: Context): void {
  const { routes } = linted
  const known = new Map<string, boolean>()
  const has = (pattern: string): boolean => {
    const answer = known.get(pattern) ?? routes.some(route => new Glob(pattern).matches(route))
    known.set(pattern, answer)
    return answer
  }
  for (const { holder, site } of holdersOf(linted)) {
    for (const [index, pattern] of (holder.routes ?? []).entries()) {
      if (has(pattern)) continue
      const message = `no route matches ${quoted(pattern)}, so it permits nothing`
      report.warn('unknown-route', site.child('routes', index), message, { meant: () => suggest(pattern, routes) })
    }
  }
}

function warnOfUnusedPrices({ prices, models }: Linted, { report }: Context): void {
  if (prices.size === 0) return
  const names = new Set<string>()
  for (const [model, { config }] of models) {
    names.add(model)
    for (const { upstream, as = model } of config.targets) names.add(as).add(`${upstream}/${as}`)
  }
  const globs = [...names].filter(isGlob)
  for (const [name, { site }] of prices) {
    const meets = isGlob(name)
      ? [...names].some(one => overlap(name, one))
      : names.has(name) || globs.some(glob => overlap(glob, name))
    if (meets || name.endsWith('/batch')) continue
    const message = `no model and no target is called ${quoted(name)}, so this price is never used`
    report.warn('unused-price', site, message, { on: 'key', meant: () => suggest(name, names), of: 'models' })
  }
}
