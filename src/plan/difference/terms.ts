import { groupsOf } from '../../core/accounting-config.js'
import { hasBudget } from '../../core/bounds.js'
import type { Caller } from '../../core/caller.js'
import type { Config, KeyConfig } from '../../core/config.js'
import { Glob, isGlob } from '../../core/glob.js'
import { boundFacts } from '../explain/limit-facts.js'
import type { Side } from './change.js'

/** Stands for callers who may do all, where no key of the file does. No key can have the name. */
const ANYONE = '*'

/** What a plan says of a key, taken apart: keys that say the same are decided together. */
export interface Terms {
  /** Absent: its requests are refused. */
  readonly caller: Caller | undefined
  /** All that decides about its requests beside models and bounds, as text. */
  readonly text: string
  /** The bounds that its requests meet, without its own name. */
  readonly bounds: string
  /** The lists of models that hold for it: its own, then those of its groups. */
  readonly lists: readonly (readonly string[])[]
}

export const EVERYBODY: Caller = { name: ANYONE, models: ['*'], may: () => true, strict: false }
const NOBODY: Terms = { caller: undefined, text: 'refused', bounds: '', lists: [] }

/** Names of keys to compare: those of the files, and {@link ANYONE} where callers come otherwise. */
export function keyNames(before: Side, after: Side): readonly string[] {
  const names = new Set([...Object.keys(before.config.keys), ...Object.keys(after.config.keys)])
  const comeOtherwise = [before, after].some(({ config }) => config.identity !== undefined)
  return names.size === 0 || comeOtherwise ? [...names, ANYONE] : [...names]
}

export function termsOf(name: string, { plan, config }: Side, now: number): Terms {
  if (name === ANYONE) return { caller: EVERYBODY, text: '', bounds: '', lists: [['*']] }
  const key = config.keys[name]
  const found = plan.keys.named(name, now)
  if (key === undefined || found === undefined || 'refused' in found) return NOBODY
  const chain = groupsOf(key, config.groups)
  const groups = chain.map(([, group]) => group)
  const { strict, regions, policy } = found
  const text = JSON.stringify([
    strict,
    regions === undefined ? null : [...regions].sort(),
    policy === undefined ? null : [key.routes ?? null, ...groups.map(group => group.routes ?? null)],
    config.record?.keys?.includes(name) ?? null,
    chain.flatMap(([group]) => (groupsAsked(config).has(group) ? [group] : [])),
    config.checks.map(({ when }) => when?.key?.some(glob => new Glob(glob).matches(name))),
    policy?.scopes.flatMap(({ limits }) => (hasBudget(limits) ? [limits.unpriced ?? null] : [])),
  ])
  const lists = [key.models, ...groups.flatMap(({ models }) => (models === undefined ? [] : [models]))]
  return { caller: found, text, bounds: boundsText(found, key), lists }
}

const ASKED = new WeakMap<Config, ReadonlySet<string>>()

/** Groups that conditions of targets and checks name. */
function groupsAsked(config: Config): ReadonlySet<string> {
  const known = ASKED.get(config)
  if (known !== undefined) return known
  const conditions = [...Object.values(config.models).flatMap(model => model.targets), ...config.checks]
  const made = new Set(conditions.flatMap(({ when }) => when?.group ?? []))
  ASKED.set(config, made)
  return made
}

function boundsText({ name, policy }: Caller, { limits }: KeyConfig): string {
  const [own, ...theirs] = policy?.scopes ?? []
  if (own === undefined) return ''
  const isOwn = limits !== undefined && own.type === 'key' && own.name === name
  return boundFacts([isOwn ? { ...own, name: 'itself' } : own, ...theirs]).join('; ')
}

/** Names that a key may use at most, where its lists say so without globs; undefined: no one can list them. */
export function listedNames({ lists, caller }: Terms): readonly string[] | undefined {
  if (caller === undefined) return []
  return lists.find(list => !list.some(isGlob))
}
