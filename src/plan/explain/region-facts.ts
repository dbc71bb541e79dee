import { groupsOf } from '../../core/accounting-config.js'
import type { Caller } from '../../core/caller.js'
import type { Config } from '../../core/config.js'
import type { Choice, Route } from '../../core/plan.js'
import { outOfRegions } from '../../core/refusals.js'
import { mayReach, regionsInCommon } from '../../core/region.js'
import { within } from '../regions.js'

/** What keys with the same regions reach, and what they do not: the proof that nothing else is asked for them. */
export interface RegionFacts {
  readonly regions: readonly string[]
  readonly keys: readonly string[]
  /** `north (eu)` */
  readonly reached: readonly string[]
  /** `south (us)`, `sim (no region)` */
  readonly left: readonly string[]
  /** Models with at least one target that is reached: `m: north`, `m: north, not south`. */
  readonly models: readonly string[]
  /** Models that are unknown to these keys. */
  readonly unknown: readonly string[]
  /** What becomes of URLs that requests name. */
  readonly media: string
  readonly webhooks: string
}

/** One for each set of regions that keys of the file have. */
export function regionFacts({ keys, groups, upstreams, models, media, webhooks }: Config): readonly RegionFacts[] {
  const sets = new Map<string, { readonly allowed: ReadonlySet<string>; readonly names: string[] }>()
  for (const [name, key] of Object.entries(keys)) {
    const chain = [key, ...groupsOf(key, groups).map(([, group]) => group)]
    const allowed = regionsInCommon(chain.map(({ regions }) => regions))
    if (allowed === undefined) continue
    const id = [...allowed].sort().join(' ')
    const set = sets.get(id) ?? { allowed, names: [] }
    sets.set(id, set)
    set.names.push(name)
  }
  return [...sets.values()].map(({ allowed, names }) => {
    const isReached = (upstream: string): boolean => mayReach(allowed, upstreams[upstream]?.region)
    const shown = (upstream: string): string => `${upstream} (${upstreams[upstream]?.region ?? 'no region'})`
    const [reached, left] = parted(Object.keys(upstreams), isReached)
    const [known, unknown] = parted(Object.keys(models), model =>
      (models[model]?.targets ?? []).some(({ upstream }) => isReached(upstream)),
    )
    return {
      regions: [...allowed],
      keys: names,
      reached: reached.map(shown),
      left: left.map(shown),
      models: known.map(model => modelText(model, models[model]?.targets.map(one => one.upstream) ?? [], isReached)),
      unknown,
      media: outside(media.fetch, allowed, 'media.fetch'),
      webhooks: outside(webhooks, allowed, 'webhooks'),
    }
  })
}

function modelText(model: string, targets: readonly string[], isReached: (upstream: string) => boolean): string {
  const [reached, left] = parted([...new Set(targets)], isReached)
  return `${model}: ${reached.join(', ')}${left.length === 0 ? '' : `, not ${left.join(', ')}`}`
}

function outside(place: { readonly region?: string } | undefined, allowed: ReadonlySet<string>, name: string): string {
  if (place === undefined) return 'none: off'
  if (mayReach(allowed, place.region)) return `yes: ${name} is in ${place.region}`
  return place.region === undefined ? `none: ${name} has no region` : `none: ${name} is in ${place.region}`
}

function parted(names: readonly string[], isIn: (name: string) => boolean): readonly [string[], string[]] {
  const parts: [string[], string[]] = [[], []]
  for (const name of names) parts[isIn(name) ? 0 : 1].push(name)
  return parts
}

export function regionRows(facts: readonly RegionFacts[]): readonly (readonly string[])[] {
  return facts.flatMap(({ regions, keys, reached, left, models, unknown, media, webhooks }) => [
    [regions.join(', ') || 'none', 'keys', keys.join(', ')],
    ['', 'reach', reached.join(', ') || 'nothing'],
    ...(left.length === 0 ? [] : [['', 'not', left.join(', ')]]),
    ...models.map((model, index) => ['', index === 0 ? 'models' : '', model]),
    ...(unknown.length === 0 ? [] : [['', 'unknown', unknown.join(', ')]]),
    ['', 'media', media],
    ['', 'webhooks', webhooks],
  ])
}

/** What of a choice a caller may reach. Throws as serving does where nothing is left. `facts` gets a line for each target. */
export function inRegions(
  choice: Choice,
  caller: Caller,
  { route, model, facts }: { route: Route; model: string; facts: { regions?: readonly string[] } },
): Choice {
  const { regions } = caller
  if (regions === undefined) return choice
  const targets = [...new Set(choice.groups.flatMap(({ exchanges }) => exchanges.map(({ upstream }) => upstream)))]
  facts.regions = targets.map(({ name, region }) => {
    const what = mayReach(regions, region) ? 'reached' : 'never asked for this key'
    return `${name} (${region ?? 'no region'}): ${what}`
  })
  const left = within(choice, caller)
  if (left !== undefined) return left
  throw outOfRegions(
    route,
    model,
    targets.map(({ name }) => name),
  )
}
