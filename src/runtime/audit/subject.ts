import { groupsOf } from '../../core/accounting-config.js'
import type { ScopeLimits, ScopeType } from '../../core/bounds.js'
import { checksOf } from '../../core/check-scope.js'
import type { Config, KeyConfig } from '../../core/config.js'
import { Glob } from '../../core/glob.js'
import type { Exchange, Plan, Route } from '../../core/plan.js'
import { asksUpstream as asks } from '../../core/route-access.js'
import { isMeasured } from '../../features/metrics/measured.js'
import type { Stage } from '../../kernel/stages.js'
import type { StageNames } from './chains.js'
import { type Holder, identityHolders, identityLimits } from './identity-holders.js'

const LIMIT_NAMES = ['requests', 'tokens', 'in_flight', 'streams', 'max_output', 'body', 'budget'] as const
export type LimitName = (typeof LIMIT_NAMES)[number]

/** What the columns of the audit judge: a route, or the paths that no route has. */
export interface Subject {
  readonly route: Route | undefined
  /** Names of the stages that take part in a phase. */
  stages(phase: keyof Stage): readonly string[]
  /** How its requests may be served: one for each different pair of target and model. */
  readonly exchanges: readonly Exchange[]
  readonly file: FileFacts
  /** Names of the checks that the file declares for it. */
  readonly checks: readonly string[]
}

/** What the whole configuration declares. */
interface FileFacts {
  /** Which kinds of holders have a limit. */
  readonly limits: ReadonlyMap<LimitName, readonly ScopeType[]>
  /** Whether the ledger is written. */
  readonly hasLedger: boolean
  /** What records requests beside the log: names of stages. */
  readonly observers: readonly string[]
  /** Whether keys or groups name the routes or networks that they may use. */
  readonly restrictsCallers: boolean
  /** Names of keys without every model that may use a route. */
  restricted(route: string): readonly string[]
}

/** Every route of the plan, and at the end the paths that no route has. */
export function* subjectsOf(plan: Plan, config: Config, names: StageNames): Generator<Subject, void, void> {
  const file = fileFacts(plan, config)
  const models = Object.keys(config.models).map(pattern => pattern.replaceAll('*', 'x'))
  for (const route of [...plan.routes, undefined]) {
    const stages = (phase: keyof Stage): readonly string[] => names.get(route)?.get(phase) ?? []
    const exchanges = route === undefined ? [] : exchangesOf(route, models)
    const checks = route === undefined ? [] : checksOf(plan.checks, route).map(({ name }) => name)
    yield { route, stages, exchanges, file, checks }
  }
}

/** Whether upstreams are asked for requests of the route: the only ones that cost. */
export function asksUpstream(route: Route | undefined): boolean {
  return route !== undefined && asks(route)
}

function exchangesOf(route: Route, models: readonly string[]): readonly Exchange[] {
  if (!asksUpstream(route)) return []
  const names = route.model === undefined ? ['', ...(route.task === undefined ? [] : models)] : models
  const found = new Set<Exchange>()
  for (const name of names) {
    for (const { exchanges } of route.resolve(name)?.groups ?? []) for (const one of exchanges) found.add(one)
  }
  return [...found]
}

function fileFacts(plan: Plan, { keys, identity, groups, models, upstreams }: Config): FileFacts {
  const limits = new Map<LimitName, ScopeType[]>()
  const holders: readonly (readonly [ScopeType, Readonly<Record<string, { readonly limits?: ScopeLimits }>>])[] = [
    ['key', keys],
    ['group', groups],
    ['model', models],
    ['upstream', upstreams],
  ]
  for (const [type, named] of holders) {
    for (const name of new Set(Object.values(named).flatMap(one => limitsIn(one.limits)))) {
      limits.set(name, [...(limits.get(name) ?? []), type])
    }
  }
  for (const name of LIMIT_NAMES) {
    if (identity === undefined || !identityLimits(identity).includes(name)) continue
    limits.set(name, [...new Set([...(limits.get(name) ?? []), 'key' as const])])
  }
  const callers = [...Object.values(keys), ...Object.values(groups)]
  const named: readonly (readonly [string, Holder])[] = [
    ...Object.entries(keys),
    ...(identity === undefined ? [] : identityHolders(identity, Object.keys(groups))),
  ]
  const restricted = named.filter(([, key]) => !key.disabled && !hasAllModels(key, groups))
  return {
    limits,
    hasLedger: plan.accounting?.ledger !== undefined,
    observers: observersOf(plan),
    restrictsCallers: callers.some(({ routes, networks }) => routes !== undefined || networks !== undefined),
    restricted: route => restricted.filter(([, key]) => mayUse(key, groups, route)).map(([name]) => name),
  }
}

function observersOf(plan: Plan): readonly string[] {
  const { telemetry, receipts } = plan
  const isOn = { metrics: isMeasured(plan), traces: telemetry?.traces !== undefined, receipts: receipts !== undefined }
  return Object.entries(isOn).flatMap(([name, on]) => (on ? [name] : []))
}

function limitsIn(limits: ScopeLimits | undefined): readonly LimitName[] {
  if (limits === undefined) return []
  const units = limits.bounds.map(({ unit }) => unit)
  return [
    ...units,
    ...(['in_flight', 'streams', 'max_output', 'body'] as const).filter(name => limits[name] !== undefined),
  ]
}

/** The key and the groups that it is in, from the inside out. */
function chainOf(key: Holder, groups: Config['groups']): readonly Partial<Pick<KeyConfig, 'models' | 'routes'>>[] {
  return [key, ...groupsOf(key, groups).map(([, group]) => group)]
}

function hasAllModels(key: Holder, groups: Config['groups']): boolean {
  return chainOf(key, groups).every(({ models }) => models === undefined || models.includes('*'))
}

function mayUse(key: Holder, groups: Config['groups'], route: string): boolean {
  return chainOf(key, groups).every(({ routes }) => routes?.some(text => new Glob(text).matches(route)) ?? true)
}
