import type { GroupConfig } from '../core/accounting-config.js'
import type { CallerPolicy, Scope, ScopeLimits, ScopeType } from '../core/bounds.js'
import type { Caller } from '../core/caller.js'
import { Networks } from '../core/client-address.js'
import type { Config, KeyConfig } from '../core/config.js'
import { Glob, isGlob, overlap } from '../core/glob.js'
import type { Priority } from '../core/priority.js'
import { type AllowedRegions, regionsInCommon } from '../core/region.js'
import { isName, NameSet } from './names.js'
import { Regions } from './regions.js'

/** A group with the groups that it belongs to. */
export interface CompiledGroup {
  readonly name: string
  readonly config: GroupConfig
  readonly outer: CompiledGroup | undefined
  /** Its name and those of its outer groups. */
  readonly names: readonly string[]
  /** Its own bounds, then those of its outer groups. */
  readonly scopes: readonly Scope[]
  /** What it and its outer groups say of models, those that say something. */
  readonly models: readonly (readonly string[])[]
  readonly may: (model: string) => boolean
  /** What it says of models without a price, or its outer groups do. */
  readonly unpriced: ScopeLimits['unpriced']
  /** Its own, or that of its outer groups. */
  readonly priority: Priority | undefined
}

const NO_SCOPES: readonly Scope[] = []
const NO_GROUPS: readonly string[] = []

/** What holds for callers without limits of their own, where others have some. */
const NO_BOUNDS: CallerPolicy = { scopes: NO_SCOPES, group: undefined, groups: [] }

/** Turns what keys and groups say into what holds for callers. */
export class Policies {
  readonly groups = new Map<string, CompiledGroup>()
  /** Whether anything is limited or counted. */
  readonly counted: boolean
  /** Where upstreams are, in this plan. */
  readonly regions: Regions
  readonly #uses = new Map<string, (route: string) => boolean>()
  readonly #origins = new Map<string, (address: string) => boolean>()

  /** Groups that say the same as `before` are the same objects, with the same scopes. */
  constructor(
    { groups = {}, accounting }: Partial<Pick<Config, 'groups' | 'accounting'>> = {},
    before?: Policies,
    regions = new Regions(),
  ) {
    this.regions = regions
    this.counted = accounting !== undefined
    for (const name of Object.keys(groups)) this.#addGroup(name, groups, before)
  }

  /** The caller of a key. `previous` is what it was before, whose scope stays if its limits are the same. */
  caller(name: string, config: KeyConfig, previous?: Caller): Caller {
    const group = this.groupOf(config)
    const policy = this.#policy(name, config, group, previous?.policy)
    const theirs = group?.models ?? []
    const models = theirs.reduce(intersection, config.models)
    const regions = regionsInCommon([config.regions, ...chain(group).map(one => one.config.regions)])
    // A key that is the same in the next plan keeps this function, which then must not keep the models of this plan.
    const reaches = regions && reachOf(this.regions, regions)
    let names: NameSet | undefined
    const may = (model: string): boolean => {
      // Made at first use: most of very many keys are seldom used.
      names ??= new NameSet(config.models)
      if (!isName(model) || !names.has(model) || group?.may(model) === false) return false
      return reaches === undefined || reaches(model)
    }
    const priority = config.priority ?? group?.priority
    return {
      name,
      models,
      may,
      strict: config.strict,
      ...(config.expose === undefined ? {} : { expose: config.expose }),
      ...(priority === undefined ? {} : { priority }),
      ...(config.generations === undefined ? {} : { generations: config.generations }),
      ...(config.capture === undefined ? {} : { capture: config.capture }),
      ...(config.trace === undefined ? {} : { trace: config.trace }),
      ...(regions === undefined ? {} : { regions }),
      ...(policy === undefined ? {} : { policy }),
    }
  }

  groupOf({ group }: Pick<KeyConfig, 'group'>): CompiledGroup | undefined {
    return group === undefined ? undefined : this.groups.get(group)
  }

  #policy(
    name: string,
    { limits, routes, networks }: KeyConfig,
    group: CompiledGroup | undefined,
    before: CallerPolicy | undefined,
  ): CallerPolicy | undefined {
    if (!this.counted) return undefined
    if (limits === undefined && routes === undefined && networks === undefined && group === undefined) return NO_BOUNDS
    const own = limits && scopeOf('key', name, withUnpriced(limits, group?.unpriced), before?.scopes[0])
    const mayUse = this.#predicate(this.#uses, all('routes', routes, group), usesOf)
    const origins = all('networks', networks, group)
    const mayComeFrom = this.#predicate(this.#origins, origins, originsOf)
    return {
      scopes: own === undefined ? (group?.scopes ?? NO_SCOPES) : [own, ...(group?.scopes ?? [])],
      group: group?.name,
      groups: group?.names ?? NO_GROUPS,
      ...(mayUse === undefined ? {} : { mayUse }),
      ...(mayComeFrom === undefined ? {} : { mayComeFrom, networks: origins }),
    }
  }

  /** One function for all keys that say the same. */
  #predicate(
    made: Map<string, (text: string) => boolean>,
    lists: readonly (readonly string[])[],
    make: (lists: readonly (readonly string[])[]) => (text: string) => boolean,
  ): ((text: string) => boolean) | undefined {
    if (lists.length === 0) return undefined
    const key = JSON.stringify(lists)
    const known = made.get(key)
    if (known !== undefined) return known
    const predicate = make(lists)
    made.set(key, predicate)
    return predicate
  }

  #addGroup(name: string, groups: Config['groups'], before: Policies | undefined): CompiledGroup | undefined {
    const known = this.groups.get(name)
    const config = groups[name]
    if (known !== undefined || config === undefined) return known
    const outer = config.group === undefined ? undefined : this.#addGroup(config.group, groups, before)
    const previous = before?.groups.get(name)
    const same = previous?.outer === outer && saysSame(previous?.config, config) ? previous : undefined
    const group = same ?? compileGroup(name, config, outer, previous)
    this.groups.set(name, group)
    return group
  }
}

function compileGroup(
  name: string,
  config: GroupConfig,
  outer: CompiledGroup | undefined,
  before: CompiledGroup | undefined,
): CompiledGroup {
  const unpriced = config.limits?.unpriced ?? outer?.unpriced
  const own = config.limits && scopeOf('group', name, withUnpriced(config.limits, unpriced), before?.scopes[0])
  const scopes = own === undefined ? (outer?.scopes ?? NO_SCOPES) : [own, ...(outer?.scopes ?? [])]
  const models = chain(outer).flatMap(one => (one.config.models === undefined ? [] : [one.config.models]))
  if (config.models !== undefined) models.unshift(config.models)
  const sets = models.map(list => new NameSet(list))
  const priority = config.priority ?? outer?.priority
  const names = [name, ...(outer?.names ?? [])]
  const may = (model: string): boolean => sets.every(set => set.has(model))
  return { name, config, outer, names, scopes, models, may, unpriced, priority }
}

function reachOf(all: Regions, allowed: NonNullable<AllowedRegions>): (model: string) => boolean {
  return model => all.reaches(model, allowed)
}

let made = 0

/** `before` itself if it has the same holder and the same limits: accounts are found by its identity. */
export function scopeOf(type: ScopeType, name: string, limits: ScopeLimits, before: Scope | undefined): Scope {
  const isSame = before?.type === type && before.name === name && saysSame(before.limits, limits)
  return isSame && before !== undefined ? before : { type, name, limits, made: ++made }
}

function saysSame(one: unknown, other: unknown): boolean {
  return one === other || JSON.stringify(one) === JSON.stringify(other)
}

function withUnpriced(limits: ScopeLimits, unpriced: ScopeLimits['unpriced']): ScopeLimits {
  return limits.unpriced !== undefined || unpriced === undefined ? limits : { ...limits, unpriced }
}

function chain(group: CompiledGroup | undefined): readonly CompiledGroup[] {
  return group === undefined ? [] : [group, ...chain(group.outer)]
}

/** What a key and its groups say: all of it holds. */
function all(
  of: 'routes' | 'networks',
  own: readonly string[] | undefined,
  group: CompiledGroup | undefined,
): readonly (readonly string[])[] {
  return [own, ...chain(group).map(({ config }) => config[of])].filter(list => list !== undefined)
}

/** Names and globs for what two lists have in common; of globs that overlap in part, the first: nothing is left out. */
function intersection(ones: readonly string[], others: readonly string[]): readonly string[] {
  return [...new Set(ones.flatMap(one => others.flatMap(other => narrower(one, other) ?? [])))]
}

function narrower(one: string, other: string): string | undefined {
  if (one === other || (isGlob(other) && new Glob(other).matches(one))) return one
  if (isGlob(one) && new Glob(one).matches(other)) return other
  return overlap(one, other) ? one : undefined
}

/** Routes are few and the same for every request, so answers are kept. */
function usesOf(lists: readonly (readonly string[])[]): (route: string) => boolean {
  const sets = lists.map(list => new NameSet(list))
  const known = new Map<string, boolean>()
  return route => {
    let answer = known.get(route)
    if (answer === undefined) {
      answer = sets.every(set => set.has(route))
      known.set(route, answer)
    }
    return answer
  }
}

function originsOf(lists: readonly (readonly string[])[]): (address: string) => boolean {
  const networks = lists.map(list => new Networks(list))
  return address => networks.every(one => one.has(address))
}
