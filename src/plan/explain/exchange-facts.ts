import { estimate } from '../../codecs/index.js'
import { checkBackground } from '../../core/admission.js'
import type { Traits } from '../../core/codec.js'
import { GatewayError } from '../../core/errors.js'
import { jsonText } from '../../core/exact-json.js'
import type { HealthRule } from '../../core/health.js'
import type { Hedge, RetryCondition, StreamContract } from '../../core/limits.js'
import type { Params } from '../../core/params.js'
import type { Choice, Exchange, Route, Translation } from '../../core/plan.js'
import { makesThings, mayAskAgain, mayHedge } from '../../core/retry.js'
import { tookNothing } from '../../core/task.js'
import { rewritten } from '../../core/transform.js'
import { asBuffer } from '../../wire/bytes.js'
import { apply, firstMember, splice } from '../../wire/json-edit.js'
import { jsonOfBytes, memberFormat } from '../../wire/json-of-bytes.js'
import { inForeground } from '../../wire/kept-members.js'
import { mergeQuery } from '../../wire/query.js'
import { UpstreamCall } from '../calls.js'
import { type EgressFacts, egressFacts } from './egress-facts.js'
import { headerLines, percent } from './format.js'
import { formatFacts } from './format-facts.js'
import {
  boundFacts,
  type ChargeFacts,
  chargeFacts,
  type LimitRefusal,
  limitRefusal,
  withOutputLimit,
} from './limit-facts.js'
import { type Allowed, type Asked, type Asker, allowedFor, placeIn } from './members.js'
import type { ReadRequest } from './read-request.js'
import { conditionText, isDrawn } from './strategy.js'
import { type TranslatedRequest, translateRequest } from './translated.js'

/** One way to serve a request. */
export interface ExchangeFacts extends EgressFacts {
  /** From 1; equal numbers are one group. */
  readonly group: number
  /** Chance to be the group's first, in percent; of groups of more than one. */
  readonly share?: number
  /** The requests that it is for, and whether this is one. */
  readonly when?: string
  readonly upstream: string
  readonly model: string
  readonly method: string
  readonly url: string
  /** How many secrets of the upstream take turns; absent: there is one, or none. */
  readonly secrets?: number
  /** What the configuration sends, `name: value`, secrets masked. */
  readonly headers: readonly string[]
  readonly translation?: TranslationFacts
  /** What becomes of bodies that change their format: `form → JSON, files as data URLs`. */
  readonly formats?: readonly string[]
  /** After translation and all edits, where a body was given. */
  readonly body?: string
  /** Members of that body that would choose who serves the request. */
  readonly dropped?: readonly string[]
  /** How the request would be refused if it came to this one, which cannot be given it: `status code: message`. */
  readonly refused?: string
  /** The body is passed on unchanged, so it is sent once, regardless of what `retry` says. */
  readonly streamed: boolean
  readonly retry: RetryFacts
  /** When it is asked after the others; absent: never, or there are no others. */
  readonly health?: HealthRule
  readonly timeouts: Exchange['timeouts']
  readonly contract?: StreamContract
  /** Absent: no other target is asked beside it, or there is none. */
  readonly hedge?: Hedge
  /** Bounds of the model and of the upstream: `upstream north: requests 500/min`. */
  readonly bounds?: readonly string[]
  /** Absent where nothing is counted. */
  readonly charge?: ChargeFacts
}

/** What follows a failure before the first byte. */
export interface RetryFacts {
  /** Attempts in all. */
  readonly attempts: number
  readonly on: Exchange['retry']['on']
  /** Other targets that can still be asked, at once. */
  readonly others: number
  /** Failures after which the same target is asked again, where no other is left. */
  readonly again: Exchange['retry']['on']
  /** Waits before that, the first and the longest, milliseconds. */
  readonly wait: number
  readonly max_wait: number
  /** Most requests that repeat others, of all that the upstream gets. */
  readonly budget: number
}

/** How a request is translated, where the upstream does not speak the route's protocol. */
export interface TranslationFacts {
  readonly from: string
  readonly to: string
  readonly traits: Traits
  /** Whether a request is refused where something of it would be lost. */
  readonly strict: boolean
  /** Rate-limit headers of the upstream that come under other names, `theirs → the client's`. */
  readonly limits?: readonly string[]
  /** No one is called: the gateway answers by itself. */
  readonly estimated?: true
  /** What is left out of the body that was given, `name: why`. */
  readonly lost?: readonly string[]
  /** How many calls the body that was given takes, made at once; absent: one. */
  readonly calls?: number
  /** URLs in the body that was given: their content is fetched and sent in their place. */
  readonly fetched?: readonly string[]
}

/** A request with its exchanges. */
interface Resolved extends Asked {
  readonly params: Params
  /** What the client sent, before anything was left out of it. */
  readonly sent: Uint8Array | undefined
}

/** An exchange whose upstream can have the request. */
interface Candidate extends Allowed {
  readonly exchange: Exchange
  readonly place: Pick<ExchangeFacts, 'group' | 'share'>
  /** Targets beside this one that come later. */
  readonly others: number
  /** Whether no other target serves the model here. */
  readonly isAlone: boolean
}

/**
 * The ways of a choice, in order: those whose upstream can have the request. Throws where none can, and where all that may
 * be asked first cannot be given it in their protocol, or limits refuse it.
 */
export function exchangeFacts(choice: Choice, request: Resolved): readonly ExchangeFacts[] {
  const { read, route } = request
  const { background, body } = read
  const found = candidates(choice, request)
  const isOurs = found[0]?.exchange.translation !== undefined
  if (background !== undefined && isOurs && body !== undefined) {
    checkBackground(background.isStored)
    const own = asBuffer(inForeground(body))
    const inner = { ...read, ...placeIn(own, route, read), body: own, stream: true }
    return exchangeFacts(choice, { ...request, read: { ...inner, background: undefined } })
  }
  const able = background === undefined ? found : found.filter(({ exchange }) => exchange.translation === undefined)
  const ways = able.map(candidate => wayOf(candidate, request))
  const first = ways.filter(({ candidate }) => candidate.place.group === ways[0]?.candidate.place.group)
  const isRefused = first.every(({ refusal }) => refusal?.others === false) || ways.every(({ refusal }) => refusal)
  const [way] = ways
  if (isRefused && way?.refusal !== undefined) throw way.refusal.error
  return ways.map(one => factsOf(one, request))
}

/** One way to serve a request, and how it is refused there. */
interface Way {
  readonly candidate: Candidate
  readonly sent: Sent | undefined
  readonly charge: ChargeFacts | undefined
  readonly refusal: LimitRefusal | undefined
}

function wayOf(candidate: Candidate, request: Resolved): Way {
  const { exchange } = candidate
  const sent = attempt(() => sentTo(candidate, request))
  const { route, asker, sent: body, read } = request
  const made = sent instanceof GatewayError ? undefined : sent
  const charged = { exchange, route, model: read.model, caller: asker.caller, body, sent: made?.body }
  const refusal = sent instanceof GatewayError ? { error: sent, others: false } : limitRefusal(charged)
  return { candidate, sent: made, charge: chargeFacts(charged), refusal }
}

/** What an upstream gets of a body, where one was given. */
interface Sent {
  readonly translated: TranslatedRequest | undefined
  readonly body: string | undefined
}

function sentTo({ exchange, read: own }: Candidate, { route, asker }: Resolved): Sent {
  const read = limited(own, exchange, route, asker)
  const translation = translationFor(exchange, asker)
  const translated = translation && translateRequest(exchange, translation, read, asker.plan.media)
  return { translated, body: translation?.client === estimate ? undefined : edited(exchange, read, translated) }
}

function limited(read: ReadRequest, exchange: Exchange, route: Route, { caller }: Asker): ReadRequest {
  const body = read.body && withOutputLimit(read.body, exchange, route, caller)
  return body === read.body || body === undefined ? read : { ...read, body, ...placeIn(asBuffer(body), route, read) }
}

/** Callers can be strict, too. */
function translationFor({ translation }: Exchange, { caller }: Asker): Translation | undefined {
  return translation && { ...translation, strict: translation.strict || caller.strict }
}

function candidates({ groups, routing }: Choice, request: Resolved): readonly Candidate[] {
  const refusals: GatewayError[] = []
  const found = groups.flatMap(({ exchanges, weights }, index) => {
    const sum = weights.reduce((total, weight) => total + weight, 0)
    const others = exchanges.length - 1 + later(groups, index)
    const isAlone = groups.length === 1 && exchanges.length === 1
    return exchanges.flatMap((exchange, member): readonly Candidate[] => {
      const share =
        exchanges.length === 1 || !isDrawn(routing?.strategy) ? {} : { share: percent(weights[member] ?? 1, sum) }
      const allowed = attempt(() => allowedFor(exchange, request))
      if (!(allowed instanceof GatewayError))
        return [{ ...allowed, exchange, place: { group: index + 1, ...share }, others, isAlone }]
      refusals.push(allowed)
      return []
    })
  })
  if (found.length === 0 && refusals[0] !== undefined) throw refusals[0]
  return found
}

/** Exchanges of the groups behind that one. */
function later(groups: Choice['groups'], index: number): number {
  return groups.slice(index + 1).reduce((sum, { exchanges }) => sum + exchanges.length, 0)
}

function attempt<T>(make: () => T): T | GatewayError {
  try {
    return make()
  } catch (error) {
    if (error instanceof GatewayError) return error
    throw error
  }
}

function factsOf({ candidate, sent, charge, refusal }: Way, request: Resolved): ExchangeFacts {
  const { exchange, place, others, isAlone, read, dropped, isHeld } = candidate
  const { upstream, model, retry, health, timeouts, contract, hedge, tariff, when } = exchange
  const { params, asker } = request
  const call = read.stream ? exchange.streamCall : exchange.call
  const variables = { ...params, model }
  const target = call instanceof UpstreamCall ? call.shown(variables) : call.text
  const translation = translationFor(exchange, asker)
  const { translated, body } = sent ?? {}
  return {
    ...place,
    ...(when === undefined ? {} : { when: conditionText(when, request) }),
    upstream: upstream.name,
    model,
    method: call.method,
    url: upstream.origin + (translation === undefined ? mergeQuery(target, request.query, isHeld) : target),
    ...(exchange.secrets === undefined ? {} : { secrets: exchange.secrets.length }),
    headers: headerLines(upstream.shownHeaders),
    ...egressFacts(upstream.egress),
    ...(translation === undefined ? {} : { translation: translationFacts(translation, translated) }),
    ...formatFacts(exchange, request.route),
    ...(body === undefined ? {} : { body }),
    ...(dropped.length === 0 ? {} : { dropped }),
    ...(refusal && { refused: `${refusal.error.status} ${refusal.error.code}: ${refusal.error.message}` }),
    retry: retryFacts(retry, request.route, others),
    streamed: request.route.body === 'raw' && memberFormat(exchange.shape?.body) === undefined,
    ...(health === undefined || isAlone ? {} : { health }),
    timeouts,
    ...(contract !== undefined && { contract }),
    ...(hedge !== undefined && others > 0 && retry.attempts > 1 && mayHedge(request.route) && { hedge }),
    ...(tariff === undefined || tariff.scopes.length === 0 ? {} : { bounds: boundFacts(tariff.scopes) }),
    ...(charge === undefined ? {} : { charge }),
  }
}

/** `others`: targets beside this one that come later. */
function retryFacts(retry: Exchange['retry'], route: Route, others: number): RetryFacts {
  const { attempts, wait, max_wait, budget } = retry
  // What may have begun something is not sent again, regardless of what `retry` says.
  const on = route.task === undefined ? retry.on : retry.on.filter(tookNothing)
  const isMaking = makesThings(route)
  const isAgain = (condition: RetryCondition): boolean => mayAskAgain(condition, isMaking)
  const isOnce = route.body === 'raw' || on.length === 0
  return {
    attempts: isOnce ? 1 : attempts,
    on,
    others: isOnce ? 0 : Math.min(others, attempts - 1),
    again: isOnce || attempts === 1 ? [] : on.filter(isAgain),
    wait,
    max_wait,
    budget,
  }
}

function translationFacts(
  { server, client, traits, strict, rateLimits }: Translation,
  translated: TranslatedRequest | undefined,
): TranslationFacts {
  const limits = [...rateLimits.names].flatMap(([name, to]) => (to.name === name ? [] : [`${name} → ${to.name}`]))
  const facts = {
    from: server.protocol,
    to: client.protocol,
    traits,
    strict,
    ...(limits.length > 0 && { limits }),
    ...(client === estimate && { estimated: true as const }),
  }
  if (translated === undefined) return facts
  const { losses, calls = 1 } = translated.translator
  const lost = [...losses.reasons].map(([name, why]) => `${name}: ${why}`)
  const { fetched } = translated
  return { ...facts, lost, ...(calls > 1 && { calls }), ...(fetched.length > 0 && { fetched }) }
}

function edited(
  exchange: Exchange,
  { body, span, missing, model }: ReadRequest,
  translated: TranslatedRequest | undefined,
): string | undefined {
  if (body === undefined) return undefined
  const format = memberFormat(exchange.shape?.body)
  if (format !== undefined) return asBuffer(rewritten(exchange.request, jsonOfBytes(body, format))).toString('utf8')
  const name = JSON.stringify(exchange.model)
  const renamed = span !== undefined && (exchange.model !== model || missing !== undefined)
  const own = renamed ? splice(body, span.start, span.end, Buffer.from(name)) : body
  const relayed = missing === undefined || renamed ? own : apply(asBuffer(body), [firstMember(body, missing, name)])
  const bytes = translated === undefined ? relayed : Buffer.from(jsonText(translated.document))
  return asBuffer(rewritten(exchange.request, bytes)).toString('utf8')
}
