import type { ScopeType } from '../../core/bounds.js'
import type { Exchange, Route } from '../../core/plan.js'
import { hasOwner } from '../../kernel/drain.js'
import type { Stage } from '../../kernel/stages.js'
import { duration } from '../../plan/explain/format.js'
import { asksUpstream, type LimitName, type Subject } from './subject.js'

/** What one column says of a route. */
export interface Verdict {
  /** What the table shows. */
  readonly cell: string
  /** What is open here that the configuration means to be closed. */
  readonly hole?: string
  /** Something that is perhaps intended, and is worth knowing. */
  readonly gap?: string
}

/** A policy, and how to see from the plan whether a route has it. */
export interface Column {
  readonly name: string
  /** What the cells show, for the documentation. */
  readonly shows: string
  /** What is a hole, for the documentation. */
  readonly hole: string
  judge(subject: Subject): Verdict
}

const NONE: Verdict = { cell: '-' }
/** The name of the stages of limits, budgets and the ledger. */
const LIMITS = 'limits'

/** Whose limits are decided when a request arrives; those of others when a target is known. */
const CALLERS: readonly ScopeType[] = ['key', 'group']

interface LimitRule {
  readonly name: Exclude<LimitName, 'budget'>
  /** Where limits of keys and groups are decided: one of these phases. */
  readonly phases: readonly (keyof Stage)[]
  readonly applies: (route: Route) => boolean
}

const LIMIT_RULES: readonly LimitRule[] = [
  { name: 'requests', phases: ['admit'], applies: asksUpstream },
  { name: 'tokens', phases: ['beforeAttempt'], applies: asksUpstream },
  { name: 'in_flight', phases: ['admit'], applies: asksUpstream },
  {
    name: 'streams',
    phases: ['admit', 'onBody', 'beforeAttempt'],
    applies: route => asksUpstream(route) && (route.tunnel !== undefined || route.stream !== 'never'),
  },
  {
    name: 'max_output',
    phases: ['admit', 'onBody', 'beforeAttempt'],
    applies: route => asksUpstream(route) && route.model !== undefined,
  },
  { name: 'body', phases: ['admit'], applies: route => asksUpstream(route) && route.body !== 'none' },
]

function limitColumns(): readonly Column[] {
  return LIMIT_RULES.map(rule => ({
    name: rule.name === 'body' ? "key's body" : rule.name,
    shows: `who has a limit \`${rule.name}\` that holds here; \`-\` where there is none, or it does not apply`,
    hole: 'it is declared, and no stage holds requests to it',
    judge: subject => (subject.route !== undefined && rule.applies(subject.route) ? held(subject, rule) : NONE),
  }))
}

export const COLUMNS: readonly Column[] = [
  {
    name: 'key',
    shows: 'the stages that can say whose request it is',
    hole: 'no stage checks keys, or the route looks for a key nowhere',
    judge({ route, stages }) {
      const found = stages('identify')
      const cell = found.join('+') || '-'
      if (!found.includes('keys')) return { cell, hole: 'no stage checks the key' }
      if (route?.caller.length === 0) return { cell, hole: 'the route looks for a key nowhere' }
      return { cell }
    },
  },
  {
    name: 'models',
    shows:
      'what keeps keys to their models: the name in the request (`name`), those of all requests in it (`each`), the owner of what the path or the body names (`owner`), a model of the upstream (`upstream`), the need for every model (`all`), or that the gateway answers itself (`own`)',
    hole: 'a key without every model can use models that no one checks: the route names none, or what it refers to may name any',
    judge: judgeModels,
  },
  {
    name: 'caller',
    shows: 'whether the routes and networks of keys are checked; `-` where no key or group names any',
    hole: 'keys or groups name routes or networks, and no stage checks them here',
    judge({ route, stages, file }) {
      if (route === undefined || !file.restrictsCallers) return NONE
      if (stages('admit').includes(LIMITS)) return { cell: 'yes' }
      return { cell: 'no', hole: 'no stage checks which routes and networks a key may use' }
    },
  },
  {
    name: 'checks',
    shows: 'the checks of your own that are asked about its requests; `-` where there are none',
    hole: 'the file declares some for it, and no stage asks them',
    judge({ checks, stages }) {
      if (checks.length === 0) return NONE
      if (stages('onBody').includes('checks')) return { cell: checks.join('+') }
      return { cell: 'no', hole: `no stage asks the checks ${checks.join(', ')}` }
    },
  },
  {
    name: 'schema',
    shows:
      'whether bodies fit a declared schema; `raw` and `no body` need none, answers of the gateway check by themselves',
    hole: 'none; JSON and forms that go to an upstream unchecked are a warning',
    judge({ route }) {
      if (route === undefined) return NONE
      if (route.validate !== undefined) return { cell: 'yes' }
      if (route.body === 'none') return { cell: 'no body' }
      if (route.body === 'raw') return { cell: 'raw' }
      if (!asksUpstream(route) || route.lane === 'answer') return { cell: 'own' }
      return { cell: 'no', gap: 'bodies go to the upstream without a schema check' }
    },
  },
  {
    name: 'body',
    shows: 'the largest body',
    hole: 'bodies have no bound',
    judge({ route }) {
      if (route === undefined || route.body === 'none') return NONE
      const { body } = route.limits
      return isBound(body) ? { cell: size(body) } : { cell: 'no', hole: 'bodies have no bound' }
    },
  },
  {
    name: 'time-outs',
    shows: 'the longest time-outs of its targets: connect, first byte, idle, total',
    hole: 'one of these is missing at a target',
    judge({ exchanges }) {
      if (exchanges.length === 0) return NONE
      const longest = (['connect', 'first_byte', 'idle', 'total'] as const).map(name => ({
        name,
        milliseconds: Math.max(...exchanges.map(one => (isBound(one.timeouts[name]) ? one.timeouts[name] : Infinity))),
      }))
      const missing = longest.filter(({ milliseconds }) => milliseconds === Infinity).map(({ name }) => name)
      if (missing.length > 0) return { cell: 'no', hole: `a target has no time-out ${missing.join(', ')}` }
      return { cell: longest.map(({ milliseconds }) => duration(milliseconds)).join('/') }
    },
  },
  {
    name: 'places',
    shows: 'whether requests count among those in flight of the whole process',
    hole: 'they do not',
    judge({ stages }) {
      if (stages('admit').includes('in_flight')) return { cell: 'yes' }
      return { cell: 'no', hole: 'requests do not count among those in flight' }
    },
  },
  ...limitColumns(),
  {
    name: 'budget',
    shows: 'who has a budget that holds here: keys, groups, models, upstreams',
    hole: 'budgets are declared, and no stage holds requests to them; or a target has neither a price nor a rule for that',
    judge: judgeBudget,
  },
  {
    name: 'retry',
    shows: 'the most attempts of a request, the first included',
    hole: 'attempts have no bound',
    judge({ exchanges }) {
      if (exchanges.length === 0) return NONE
      const most = Math.max(...exchanges.map(({ retry }) => retry.attempts))
      return isBound(most) ? { cell: String(most) } : { cell: 'no', hole: 'attempts have no bound' }
    },
  },
  {
    name: 'secrets',
    shows: 'how many secrets a target has, at most; `-` where none needs one',
    hole: 'none',
    judge({ exchanges }) {
      const counts = exchanges.map(one => one.secrets?.length ?? (one.upstream.credential === undefined ? 0 : 1))
      const most = Math.max(0, ...counts)
      return most === 0 ? NONE : { cell: String(most) }
    },
  },
  {
    name: 'abort',
    shows: "what becomes of the upstream's work when the client has gone",
    hole: 'the answer is read to its end, which no time-out bounds',
    judge({ route, exchanges }) {
      if (exchanges.length === 0) return NONE
      const draining = exchanges.filter(({ tariff }) => tariff?.onClientAbort === 'drain' || hasOwner(route))
      const cell = draining.length === 0 ? 'cancel' : draining.length === exchanges.length ? 'drain' : 'cancel+drain'
      if (draining.every(({ timeouts }) => isBound(timeouts.total))) return { cell }
      return { cell, hole: 'answers are drained without a total time-out' }
    },
  },
  {
    name: 'log',
    shows: 'whether each request has its line in the log',
    hole: 'it has none',
    judge({ stages }) {
      if (stages('record').includes('log')) return { cell: 'yes' }
      return { cell: 'no', hole: 'requests are not logged' }
    },
  },
  {
    name: 'metric',
    shows: 'where what a request used is counted: `ledger`, or the `log` alone',
    hole: 'the ledger is written, and attempts of this route are not in it',
    judge({ route, stages, file }) {
      if (!asksUpstream(route)) return NONE
      if (!file.hasLedger) return { cell: 'log' }
      if (stages('afterAttempt').includes(LIMITS)) return { cell: 'ledger' }
      return { cell: 'log', hole: 'attempts are not in the ledger' }
    },
  },
  {
    name: 'telemetry',
    shows: 'what else records each request: `metrics`, `traces`, `receipts`',
    hole: 'one of these is on, and does not record requests of this route',
    judge({ stages, file: { observers } }) {
      const found = stages('record')
      const cell = observers.filter(name => found.includes(name)).join('+') || '-'
      const missing = observers.filter(name => !found.includes(name))
      return missing.length === 0 ? { cell } : { cell, hole: `requests are not in ${missing.join(' and ')}` }
    },
  },
]

function judgeModels({ route, file }: Subject): Verdict {
  if (route === undefined) return NONE
  if (!asksUpstream(route)) return { cell: route.resource !== undefined || route.task !== undefined ? 'owner' : 'own' }
  if (route.model !== undefined) return { cell: 'name' }
  if (route.batch !== undefined) return { cell: 'each' }
  if (route.task !== undefined) return { cell: 'owner' }
  const creates = route.resource?.action === 'create'
  if (creates && route.requiresAllModels) return { cell: 'all' }
  // What it refers to belongs to the key, but may name models that the key does not have.
  const isOpen = route.resource === undefined || (creates && route.references.length > 0)
  if (!isOpen) return { cell: creates ? 'upstream' : 'owner' }
  const keys = file.restricted(route.id)
  if (keys.length === 0) return { cell: 'all' }
  const why = creates ? 'what it refers to may name any model' : 'it names no model'
  const shown = keys.length > MAX_SHOWN_KEYS ? `${keys.slice(0, MAX_SHOWN_KEYS).join(', ')}, …` : keys.join(', ')
  return { cell: 'no', hole: `keys without every model may use it, and ${why}: ${shown}` }
}

const MAX_SHOWN_KEYS = 5

/** Whether a stage holds the requests of a route to a limit. */
function held(
  { stages, file }: Subject,
  { name, phases }: Omit<LimitRule, 'applies' | 'name'> & { name: LimitName },
): Verdict {
  const here = file.limits.get(name) ?? []
  if (here.length === 0) return NONE
  const open = here.filter(type => {
    const decided = CALLERS.includes(type) ? phases : (['beforeAttempt'] as const)
    return !decided.some(phase => stages(phase).includes(LIMITS))
  })
  const cell = here.join('+')
  if (open.length === 0) return { cell }
  const whose = open.map(type => (type === 'upstream' ? 'an upstream' : `a ${type}`)).join(' or ')
  return { cell, hole: `no stage holds requests to the limit ${name} of ${whose}` }
}

function judgeBudget(subject: Subject): Verdict {
  if (!asksUpstream(subject.route)) return NONE
  const verdict = held(subject, { name: 'budget', phases: ['beforeAttempt'] })
  if (verdict === NONE || verdict.hole !== undefined) return verdict
  const open = subject.exchanges.filter(({ tariff }) => tariff === undefined || isOpen(tariff))
  if (open.length > 0) return { ...verdict, hole: `no price is known of ${named(open)}` }
  const free = subject.exchanges.filter(({ tariff }) => tariff?.price === undefined && tariff?.unpriced === 'free')
  return free.length === 0 ? verdict : { ...verdict, gap: `no price is known of ${named(free)}, which is free` }
}

/** Whether a budget would not know what to do: neither a price nor a rule for that is there. */
function isOpen({ price, unpriced }: Partial<NonNullable<Exchange['tariff']>>): boolean {
  return price === undefined && unpriced === undefined
}

function named(exchanges: readonly Exchange[]): string {
  const names = [...new Set(exchanges.map(({ upstream, model }) => `${upstream.name}/${model}`))]
  return names.length > MAX_SHOWN_KEYS ? `${names.slice(0, MAX_SHOWN_KEYS).join(', ')}, …` : names.join(', ')
}

function isBound(value: number): boolean {
  return Number.isFinite(value) && value > 0
}

const MIB = 1024 * 1024

function size(bytes: number): string {
  if (bytes >= 1024 * MIB) return `${round(bytes / MIB / 1024)}GiB`
  return bytes >= MIB ? `${round(bytes / MIB)}MiB` : `${round(bytes / 1024)}KiB`
}

function round(value: number): string {
  return String(Math.round(value * 10) / 10)
}
