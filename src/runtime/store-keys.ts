import { hash } from 'node:crypto'
import { readKeyTerms } from '../config/key-terms.js'
import { hasBudget, type Scope } from '../core/bounds.js'
import type { Caller } from '../core/caller.js'
import type { Config } from '../core/config.js'
import { GatewayError } from '../core/errors.js'
import { Glob, overlap } from '../core/glob.js'
import { LruCache } from '../core/lru.js'
import type { Plan } from '../core/plan.js'
import type { Store } from '../core/store.js'
import { CALLERS, type StoredHolder } from '../features/keys/callers.js'
import { isCounted, isKeyName, type KeyTerms, type StoredKey } from '../features/keys/record.js'
import { readRevision } from '../features/keys/revisions.js'
import { KeySecrets } from '../features/keys/secrets.js'
import { StoredKeys } from '../features/keys/stored-keys.js'
import type { Kernel } from '../kernel/kernel.js'
import { CompiledPlan } from '../plan/compile.js'
import { compileHolder } from '../plan/keys.js'
import { Policies } from '../plan/policies.js'
import type { Log } from '../sinks/log.js'
import { type LoadedPlan, type LoadOptions, loadPlan } from './load.js'
import { StartError } from './problems.js'
import { openStore } from './stores.js'

/** Lets a gateway take keys of its store. `count` compiles its plan anew, so that it keeps limits. */
export function serveStoredKeys(kernel: Kernel, log: Log, count: () => Promise<void>): void {
  const callers = kernel.need(CALLERS)
  callers.compile = compileStoredKey
  callers.onFault = (key, fault) => log.warn({ key }, KEY_FAULTS[fault])
  callers.onCounted = count
}

const KEY_FAULTS = {
  name: 'a key of the store is refused: a key of the file has its name',
  terms: 'a key of the store is refused: its terms do not fit the file',
} as const

/** Whether the keys of a store have limits, and the file has none. A store that is away is asked again later. */
export async function needsCounting(plan: Plan, store: Store): Promise<boolean> {
  if (isCounting(plan) || plan.store.type === 'memory') return false
  const revision = await readRevision(store).catch(() => undefined)
  return revision?.counted === true
}

/** The plan of a gateway whose keys of the store have limits, from now on. */
export function loadCounting(options: LoadOptions): Promise<LoadedPlan> {
  setCounting(options.overrides ?? {})
  return loadPlan(options)
}

/** For all reloads of the process. */
export function setCounting(overrides: object): void {
  Object.assign(overrides, { counted: true })
}

/** Whether requests are counted, in the plan of a file. */
export function isCounting({ accounting }: Plan): boolean {
  return accounting?.ledger !== undefined
}

/** What a plan makes of a key of the store; undefined where its terms do not fit the file any more. */
export function compileStoredKey(
  { name, terms }: Pick<StoredKey, 'name' | 'terms'>,
  plan: Plan,
): StoredHolder | undefined {
  const policies = policiesOf(plan)
  // No key can have the name of an identity.
  const read = readKeyTerms(isKeyName(name) ? name : 'identity', terms, policies.groups, policies.regions.names)
  if ('faults' in read) return undefined
  if (isCounted(terms) && !isCounting(plan)) throw new GatewayError('unavailable', NOT_COUNTING, { retryAfter: 1000 })
  return compileHolder(name, read.config, policies)
}

const NOT_COUNTING = 'The limits of this key are being put into effect.'

/** What a key of the store is in a plan; undefined where its terms do not fit, or not yet. */
export function holderOf(key: StoredKey, plan: Plan): StoredHolder | undefined {
  return isCounted(key.terms) && !isCounting(plan) ? undefined : compileStoredKey(key, plan)
}

/** Terms whose faults are known for each plan, halved: reading terms takes milliseconds, and lists of keys are read every few seconds. */
const HALF_KNOWN = 1000
/** By a digest of the terms, which may be long. */
const KNOWN_FAULTS = new WeakMap<Plan, LruCache<readonly string[]>>()

/** What is wrong with the terms of a key, by the rules of the file; empty where they fit. */
export function faultsOf(name: string, terms: KeyTerms, plan: Plan): readonly string[] {
  const own = isKeyName(name) ? 'key' : name
  const known = KNOWN_FAULTS.get(plan) ?? new LruCache<readonly string[]>(HALF_KNOWN)
  KNOWN_FAULTS.set(plan, known)
  const digest = hash('sha256', `${own} ${JSON.stringify(terms)}`)
  const before = known.get(digest)
  if (before !== undefined) return before
  const policies = policiesOf(plan)
  const read = readKeyTerms(own, terms, policies.groups, policies.regions.names)
  const faults = 'faults' in read ? read.faults : []
  known.set(digest, faults)
  return faults
}

/**
 * What terms that fit do less than they say, by the lints of the file: names of nothing, and budgets over what has no price. Prices
 * are known to plans that count.
 */
export function warningsOf(name: string, terms: KeyTerms, plan: Plan, config: Config): readonly string[] {
  const policies = policiesOf(plan)
  const models = Object.keys(config.models)
  const read = readKeyTerms(name, terms, policies.groups, policies.regions.names, models)
  if ('faults' in read) return []
  const { routes = [] } = read.config
  const unknown = routes.filter(pattern => !plan.routes.some(({ id }) => new Glob(pattern).matches(id)))
  return [
    ...read.warnings,
    ...unknown.map(pattern => `routes: no route matches "${pattern}", so it permits nothing`),
    ...warningsOfPrices(compileHolder(name, read.config, policies).caller, plan, config),
  ]
}

/** Models that one warning names. */
const MAX_NAMED = 3

function warningsOfPrices(
  { models, policy }: Caller,
  plan: Plan,
  { accounting, models: all }: Config,
): readonly string[] {
  const isOpen = ({ limits }: Scope): boolean => limits.unpriced === undefined && hasBudget(limits)
  if (accounting?.unpriced !== undefined || policy?.scopes.some(isOpen) !== true) return []
  const isOurs = (model: string): boolean => models.some(pattern => overlap(pattern, model))
  const names = Object.keys(all).filter(model => isOurs(model) && isRefused(model, plan))
  if (names.length === 0) return []
  const more = names.length > MAX_NAMED ? ` and ${names.length - MAX_NAMED} more` : ''
  const shown = names.slice(0, MAX_NAMED).map(model => `"${model}"`)
  return [
    `limits.budget: no price is known for ${shown.join(', ')}${more}, which it refuses; write prices, or unpriced`,
  ]
}

/** Whether a target of a model has a price on none of its routes, and no rule for that. */
function isRefused(model: string, plan: Plan): boolean {
  const found = new Map<string, boolean>()
  for (const route of plan.routes) {
    for (const { upstream, tariff } of route
      .resolve(model.replaceAll('*', 'x'))
      ?.groups.flatMap(({ exchanges }) => exchanges) ?? []) {
      if (tariff !== undefined)
        found.set(
          upstream.name,
          found.get(upstream.name) === true || tariff.price !== undefined || tariff.unpriced === 'free',
        )
    }
  }
  return [...found.values()].includes(false)
}

function policiesOf(plan: Plan): Policies {
  return plan instanceof CompiledPlan ? plan.policies : new Policies()
}

/** The keys of a store, for a command. Throws {@link StartError} where the store is nowhere but in a running process. */
export async function openStoredKeys({ store: config }: Plan): Promise<{ keys: StoredKeys; store: Store }> {
  if (config.type === 'memory') {
    throw new StartError(
      "keys are in the gateway's memory (store: { type: memory }), so this command cannot see them; use the admin API",
    )
  }
  const store = await openStore(config)
  return { keys: new StoredKeys(store, new KeySecrets(store)), store }
}
