import type { Caller } from '../../core/caller.js'
import { errorBody } from '../../core/error-bodies.js'
import { type ErrorCode, type Family, GatewayError } from '../../core/errors.js'
import type { JsonObject } from '../../core/json.js'
import type { Params } from '../../core/params.js'
import { type Phase, phasesOf } from '../../core/phases.js'
import type { Choice, Match, Miss, Route, TaskRoute } from '../../core/plan.js'
import { recordFilter } from '../../core/recording.js'
import {
  switchedOff,
  unauthenticated,
  unknownModel,
  unlistedModel,
  unrouted,
  unservedModel,
} from '../../core/refusals.js'
import { asksUpstream, checkRoute } from '../../core/route-access.js'
import { HEALTH_PATHS } from '../../core/route-settings.js'
import type { VectorForm } from '../../core/vectors.js'
import type { CompiledPlan } from '../compile.js'
import type { Ask } from './ask.js'
import { checkFacts } from './check-facts.js'
import { type ExchangeFacts, exchangeFacts } from './exchange-facts.js'
import { boundFacts, networkFacts } from './limit-facts.js'
import { type ReadRequest, readRequest, UNREAD } from './read-request.js'
import { inRegions } from './region-facts.js'
import { arranged, meantFor, routingFacts } from './strategy.js'

/** What would become of a request, as plain data without a secret in it. */
export interface RequestFacts {
  /** Method and path; the query may hold a key. */
  readonly request: string
  readonly route?: string
  readonly params?: Params
  /** Name of the key. */
  readonly key?: string
  /** Bounds of the key and of its groups: `key alice: requests 10/s`, `only from 10.0.0.0/8`. */
  readonly bounds?: readonly string[]
  /** Of a key with regions: each target, and whether it may be asked. */
  readonly regions?: readonly string[]
  /** Targets that are not for such a request: `north: stream: not for this request (stream)`. */
  readonly left_out?: readonly string[]
  readonly model?: string
  readonly stream?: boolean
  /** Checks that are asked about it, in their order. */
  readonly checks?: readonly string[]
  /** The form in which the client gets vectors: the answer is rewritten where the upstream gives them in another. */
  readonly vectors?: VectorForm
  /** Names of the models that the gateway's own answer holds. */
  readonly answer?: readonly string[]
  /** What is done with tasks, if no model is involved. */
  readonly task?: string
  /** What is done with responses that are kept, here or at an upstream. */
  readonly kept?: string
  /** Which of the exchanges is asked, where one alone can be: the upstream that has the thing that the path names. */
  readonly held?: string
  /** What decides which of the exchanges is asked first, if not their order. */
  readonly strategy?: string
  /** Which of such requests try another target. */
  readonly canary?: string
  /** Models that are asked instead after failures: `overloaded: other`. */
  readonly fallbacks?: readonly string[]
  /** Which of such requests are copied, and for which model. */
  readonly mirror?: string
  /** Into which folder its exchanges are recorded. */
  readonly recorded?: string
  /** Ways to serve it, in order; those of one group are drawn from by weight. */
  readonly exchanges: readonly ExchangeFacts[]
  readonly error?: ErrorFacts
}

/** How the request would be refused. */
export interface ErrorFacts {
  readonly status: number
  readonly code: ErrorCode
  readonly family: Family
  /** For the operator: more than the client sees. */
  readonly reason: string
  /** What the client receives, in its family's format; ids of requests are new each time. */
  readonly body?: JsonObject
  readonly allow?: readonly string[]
  /** Of limits the one that refuses, as the log names it. */
  readonly limit?: string
}

type Writable<T> = { -readonly [Key in keyof T]: T[Key] }

const ANYBODY: Caller = { name: '', models: [], may: () => true, strict: false }

/** Refuses the request as serving would, or says what would be answered to it. */
export function requestFacts(plan: CompiledPlan, ask: Ask): RequestFacts {
  const mark = ask.path.indexOf('?')
  const path = mark < 0 ? ask.path : ask.path.slice(0, mark)
  const matched = plan.match(ask.method, path)
  const { route } = matched
  const query = mark < 0 ? undefined : new URLSearchParams(ask.path.slice(mark + 1))
  const facts: Writable<RequestFacts> = { request: `${ask.method} ${path}`, exchanges: [] }
  if (HEALTH_PATHS.includes(path) && (ask.method === 'GET' || ask.method === 'HEAD')) {
    return { ...facts, answer: ['health, which needs no key'] }
  }
  if (route !== undefined) facts.route = route.id
  const explained: Explained = {
    plan,
    ask,
    path,
    query,
    matched,
    facts,
    caller: ANYBODY,
    maxBody: route?.limits.body ?? 0,
  }
  try {
    for (const phase of phasesOf(route, route !== undefined && isServed(route))) CHECKS[phase]?.(explained)
    return facts
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    return { ...facts, error: errorFacts(error, matched) }
  }
}

/** What is known of a request; each phase adds to it. */
interface Explained {
  readonly plan: CompiledPlan
  readonly ask: Ask
  readonly path: string
  readonly query: URLSearchParams | undefined
  readonly matched: Match | Miss
  readonly facts: Writable<RequestFacts>
  caller: Caller
  /** Largest body, bytes. */
  maxBody: number
  read?: ReadRequest
  choice?: Choice
}

/** Whether the gateway answers by itself, or from its records. */
function isServed({ lane, task, model }: Route): boolean {
  return lane === 'answer' || (task !== undefined && model === undefined)
}

/** What each phase refuses and finds out. Phases that are absent neither refuse nor change what can be explained. */
const CHECKS: Readonly<Partial<Record<Phase, (explained: Explained) => void>>> = {
  identify(explained) {
    const { plan, ask, matched } = explained
    explained.caller = authenticate(plan, ask, matched.route?.caller ?? (matched as Miss).caller)
    if (explained.caller !== ANYBODY) explained.facts.key = explained.caller.name
  },
  admit(explained) {
    const { policy } = explained.caller
    const { route } = explained.matched
    if (policy === undefined || route === undefined) return
    const bounds = [...boundFacts(policy.scopes), ...networkFacts(policy)]
    if (bounds.length > 0) explained.facts.bounds = bounds
    checkRoute(policy, route)
    if (!asksUpstream(route)) return
    explained.maxBody = Math.min(
      explained.maxBody,
      ...policy.scopes.map(({ limits }) => limits.body ?? explained.maxBody),
    )
  },
  match({ matched, ask, path, facts }) {
    if (matched.route === undefined) throw unrouted(matched, ask.method, path)
    if (Object.keys(matched.params).length > 0) facts.params = matched.params
  },
  readBody(explained) {
    const { matched, query, ask, facts, maxBody } = explained
    const { route } = matched as Match
    const read = readRequest(matched as Match, query, ask, maxBody)
    explained.read = read
    if (route.model !== undefined) facts.model = read.model
    facts.stream = read.stream
    if (read.vectors !== undefined) facts.vectors = read.vectors
  },
  onBody({ plan, matched, facts, caller, read }) {
    const { route } = matched as Match
    const asked = read === undefined ? [] : checkFacts(plan, route, read, { caller, plan })
    if (asked.length > 0) facts.checks = asked
  },
  source(explained) {
    const { plan, ask, query, matched, facts, caller, read } = explained
    const { route } = matched as Match
    if (read === undefined || isServed(route)) return
    if (route.resource !== undefined && route.resource.action !== 'create' && route.model === undefined) {
      facts.held = `sent only to the one of these that has the ${route.resource.kind.name}`
    }
    if (route.batch !== undefined)
      facts.held = `sent to the one of these that serves all its models on ${route.batch.of}`
    explained.choice = holders(plan, route, caller, query, ask.model) ?? resolve(plan, route, read.model, caller)
  },
  narrow(explained) {
    const { plan, ask, query, matched, facts, caller, read, choice } = explained
    const { route, params } = matched as Match
    if (read === undefined || choice === undefined) return
    const reached = inRegions(choice, caller, { route, model: read.model, facts })
    const asker = { caller, plan }
    Object.assign(facts, routingFacts(reached, { route, read, asker }))
    const meant = meantFor(reached, { route, read, asker }, facts)
    const { record } = plan
    if (record !== undefined && recordFilter(record, route.protocol?.name ?? route.id)?.(read.model, caller.name))
      facts.recorded = record.into
    facts.exchanges = exchangeFacts(arranged(meant, { route, read, asker }), {
      // What each of its requests gets, no other route says.
      ...{ route, params, query, read: route.batch === undefined ? read : { ...read, body: undefined } },
      asker,
      sent: typeof ask.body === 'string' ? Buffer.from(ask.body) : ask.body,
    })
  },
  serve(explained) {
    const { route } = explained.matched as Match
    if (isServed(route)) explainServed(explained, route)
  },
}

/** What answers it, and whether that refuses its body. */
function explainServed({ plan, ask, query, matched, facts, caller, maxBody }: Explained, route: Route): void {
  const { params } = matched as Match
  if (route.resource?.action === 'list') facts.answer = [`the key's own ${route.resource.kind.name} list`]
  else if (route.answer === 'models' || route.answer === 'model') facts.answer = answer(plan, route, params, caller)
  else {
    if (ask.body !== undefined) readRequest(matched as Match, query, ask, maxBody)
    if (route.task === undefined) facts.kept = keptText(route)
    else facts.task = taskText(route.task)
  }
}

function keptText({ answer }: Route): string {
  if (answer === 'client_secret') return 'nothing: the created secret contains its settings'
  if (answer === 'usage') return "what the key's limits allow, and what of it is used"
  if (answer === 'openapi') return 'what the key may do, as an OpenAPI document'
  return answer === 'response.compact'
    ? "sent to the model's upstream; if that does not compact, its model writes a summary"
    : answer !== undefined && /^(conversation|completion)/.test(answer)
      ? "from the gateway's store"
      : "from the gateway's store, or from the upstream that keeps the response"
}

function taskText({ kind, action, parameter, runs, member = '' }: TaskRoute): string {
  return action === 'submit'
    ? `sent to the upstream that has the task that ${parameter === undefined ? `body.${member}` : `{${parameter}}`} names`
    : action === 'seed'
      ? 'seed: from the upstream that has the task'
      : action === 'run'
        ? `run: answered at once, then asked of POST ${runs?.path} in the name of the caller`
        : `${action}: from the stored ${kind.name} tasks`
}

function errorFacts(error: GatewayError, matched: Match | Miss): ErrorFacts {
  const family = matched.route?.errors ?? (matched as Miss).errors
  const { code, status, message, cause } = error
  const reason = typeof cause === 'string' ? cause : message
  const { allow, rule, limit } = error.details
  return {
    ...{ status, code, family, reason },
    ...(rule === UNREAD ? {} : { body: errorBody(error, family, REQUEST_ID) }),
    ...(allow === undefined ? {} : { allow }),
    ...(limit === undefined ? {} : { limit }),
  }
}

/** Stands for the id of a request, of which there is none. */
const REQUEST_ID = '…'

function authenticate(
  plan: CompiledPlan,
  { key, caller: known, now = Date.now() }: Ask,
  placements: Route['caller'],
): Caller {
  if (key === undefined) return ANYBODY
  const caller = known ?? plan.keys.named(key, now) ?? plan.keys.find(key, now)
  if (!('refused' in caller)) return caller
  throw unauthenticated(placements, `this key is ${caller.refused}`)
}

function answer({ models }: CompiledPlan, route: Route, params: Params, caller: Caller): readonly string[] {
  if (route.answer === 'models') return models.list(caller).map(entry => entry.id)
  const name = params[route.model?.name ?? ''] ?? ''
  const entry = models.find(name, caller)
  if (entry === undefined) {
    throw unlistedModel(name, route.errors, `the key may not use "${name}", or no upstream serves it`)
  }
  return [entry.id]
}

/** Who may hold what the request makes or names; which of them has a thing that exists only the store knows. */
function holders(
  { models }: CompiledPlan,
  route: Route,
  caller: Caller,
  query: URLSearchParams | undefined,
  asked: string | undefined,
): Choice | undefined {
  const { resource, model } = route
  const choice = resource === undefined || model !== undefined ? undefined : route.resolve('')
  if (choice === undefined || resource?.action !== 'create' || route.batch !== undefined) return choice
  const hint = route.modelHints.find(one => one.from === 'query')
  const name = query?.get(hint?.name ?? '') ?? (route.modelHints.length > 0 ? asked : undefined)
  if (caller === ANYBODY && name === undefined) return choice
  const reached = models.upstreams(caller, name)
  if (reached === undefined) throw unknownModel(name ?? '', route, `the key "${caller.name}" may not use "${name}"`)
  const group = choice.groups.find(({ exchanges }) => exchanges.some(one => reached.has(one.upstream.name)))
  if (group === undefined) {
    const code = [...reached].some(one => route.speakers.has(one)) ? 'unavailable' : 'invalid_parameter'
    throw new GatewayError(code, "no upstream of the key's models can keep this")
  }
  return { groups: [group] }
}

function resolve(plan: CompiledPlan, route: Route, model: string, caller: Caller): Choice {
  if (route.model !== undefined && !caller.may(model)) {
    throw unknownModel(model, route, `the key "${caller.name}" may not use "${model}"`)
  }
  const choice = route.resolve(model)
  if (choice !== undefined) return choice
  const reason = whyUnserved(plan, route, model)
  throw route.model === undefined ? switchedOff(reason) : unservedModel(model, route, plan, caller, reason)
}

function whyUnserved({ models, upstreams }: CompiledPlan, { protocol }: Route, name: string): string {
  const targets = models.index.find(name)?.model.config.targets
  if (targets === undefined) return name === '' ? "the route's upstream is off" : `no model is called "${name}"`
  const reasons = targets.map(({ upstream }) => {
    const off = upstreams.get(upstream)?.off
    return off === undefined ? `${upstream} does not speak ${protocol?.name}` : `${upstream} is off (${off})`
  })
  return `no upstream serves "${name}" here:  ${reasons.join(', ')}`
}
