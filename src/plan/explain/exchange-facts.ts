import { estimate } from '../../codecs/index.js'
import type { Traits } from '../../core/codec.js'
import { GatewayError } from '../../core/errors.js'
import { jsonText } from '../../core/exact-json.js'
import type { Params } from '../../core/params.js'
import type { Choice, Exchange, Route, Translation } from '../../core/plan.js'
import { tookNothing } from '../../core/task.js'
import { asBuffer } from '../../wire/bytes.js'
import { apply, firstMember, splice } from '../../wire/json-edit.js'
import { type IsReserved, mergeQuery } from '../../wire/query.js'
import { UpstreamCall } from '../calls.js'
import type { Admitted } from './admit.js'
import { headerLines, percent } from './format.js'
import { type Allowed, type Asker, allowedFor } from './members.js'
import { type TranslatedBody, translateBody } from './translated-body.js'

/** One way to serve a request. */
export interface ExchangeFacts {
  /** From 1; equal numbers are one group. */
  readonly group: number
  /** Chance to be the group's first, in percent; of groups of more than one. */
  readonly share?: number
  readonly upstream: string
  readonly model: string
  readonly method: string
  readonly url: string
  /** What the configuration sends, `name: value`, secrets masked. */
  readonly headers: readonly string[]
  readonly translation?: TranslationFacts
  /** After translation and all edits, where a body was given. */
  readonly body?: string
  /** Members of that body that would choose who serves the request. */
  readonly dropped?: readonly string[]
  /** The body is passed on unchanged, so it is sent once, regardless of what `retry` says. */
  readonly streamed: boolean
  readonly retry: RetryFacts
  readonly timeouts: Exchange['timeouts']
}

/** What follows a failure before the first byte: at once, regardless of what wait the upstream asks for. */
export interface RetryFacts {
  /** Attempts in all. */
  readonly attempts: number
  readonly on: Exchange['retry']['on']
  /** Other targets that can still be asked, each once. */
  readonly others: number
  /** Where no other is left, this one is asked once more after `reset`. */
  readonly again: boolean
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
}

/** A request with its exchanges. */
interface Resolved {
  readonly route: Route
  readonly params: Params
  readonly query: URLSearchParams | undefined
  readonly admitted: Admitted
  readonly asker: Asker
}

/** The ways of a choice, in order: those whose upstream can have the request. */
export function exchangeFacts({ groups }: Choice, request: Resolved): readonly ExchangeFacts[] {
  const { route, admitted, asker } = request
  const refusals: GatewayError[] = []
  const facts = groups.flatMap(({ exchanges, weights }, index) => {
    const sum = weights.reduce((total, weight) => total + weight, 0)
    return exchanges.flatMap((exchange, member): readonly ExchangeFacts[] => {
      const share = exchanges.length === 1 ? {} : { share: percent(weights[member] ?? 1, sum) }
      const allowed = attempt(() => allowedFor(exchange, route, admitted, asker))
      if (allowed instanceof GatewayError) {
        refusals.push(allowed)
        return []
      }
      const others = exchanges.length - 1 + later(groups, index)
      return [{ group: index + 1, ...share, ...factsOf(exchange, request, allowed, others) }]
    })
  })
  if (facts.length === 0 && refusals[0] !== undefined) throw refusals[0]
  return facts
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

function factsOf(
  exchange: Exchange,
  request: Resolved,
  { admitted, dropped }: Allowed,
  others: number,
): Omit<ExchangeFacts, 'group' | 'share'> {
  const { upstream, model, retry, timeouts } = exchange
  const { params, asker } = request
  const call = admitted.stream ? exchange.streamCall : exchange.call
  const variables = { ...params, model }
  const target = call instanceof UpstreamCall ? call.shown(variables) : call.text
  const translation = exchange.translation && {
    ...exchange.translation,
    strict: exchange.translation.strict || asker.caller.strict,
  }
  const isAsked = translation?.client !== estimate
  const translated = translation && isAsked ? translatedFrom(exchange, translation, admitted) : undefined
  const body = isAsked ? edited(exchange, admitted, translated) : undefined
  return {
    upstream: upstream.name,
    model,
    method: call.method,
    url: upstream.origin + mergeQuery(target, request.query, isHeld(request.route, exchange)),
    headers: headerLines([...upstream.shownHeaders, ...(translated?.headers ?? [])]),
    ...(translation === undefined ? {} : { translation: translationFacts(translation, translated) }),
    ...(body === undefined ? {} : { body }),
    ...(dropped.length === 0 ? {} : { dropped }),
    retry: retryFacts(retry, request.route, others),
    streamed: request.route.body === 'raw',
    timeouts,
  }
}

/** `others`: targets beside this one that come later. */
function retryFacts({ attempts, on: written }: Exchange['retry'], route: Route, others: number): RetryFacts {
  const isTask = route.task !== undefined
  // What may have begun something is not sent again, regardless of what `retry` says.
  const on = isTask ? written.filter(tookNothing) : written
  const isOnce = route.body === 'raw' || on.length === 0
  return {
    attempts: isOnce ? 1 : attempts,
    on,
    others: isOnce ? 0 : Math.min(others, attempts - 1),
    again: !isOnce && attempts > 1 && on.includes('reset') && !isTask && route.tunnel === undefined,
  }
}

/** The caller's key and the model stay here, what says where things should be, and what is not known of a body's route. */
function isHeld(route: Route, { upstream }: Exchange): IsReserved {
  const { openQuery, of } = route.members
  return name =>
    (!openQuery && of(upstream.name).query.get(name) !== 'pass') ||
    route.caller.some(place => place.in === 'query' && place.name === name) ||
    route.modelHints.some(hint => hint.from === 'query' && hint.name === name) ||
    (route.model?.from === 'query' && route.model.name === name)
}

function translationFacts(
  { server, client, traits, strict, rateLimits }: Translation,
  translated: TranslatedBody | undefined,
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
  const { lost, calls } = translated
  return { ...facts, lost, ...(calls > 1 && { calls }) }
}

function translatedFrom(
  exchange: Exchange,
  translation: Translation,
  { body, model, stream }: Admitted,
): TranslatedBody | undefined {
  return body && translateBody(translation, { body, model: { asked: model, sent: exchange.model }, stream })
}

function edited(
  exchange: Exchange,
  { body, span, missing, model }: Admitted,
  translated: TranslatedBody | undefined,
): string | undefined {
  if (body === undefined) return undefined
  const name = JSON.stringify(exchange.model)
  const renamed = span !== undefined && (exchange.model !== model || missing !== undefined)
  const own = renamed ? splice(body, span.start, span.end, Buffer.from(name)) : body
  const relayed = missing === undefined || renamed ? own : apply(asBuffer(body), [firstMember(body, missing, name)])
  const bytes = translated === undefined ? relayed : Buffer.from(jsonText(translated.document))
  try {
    return Buffer.from(exchange.request?.(bytes) ?? bytes).toString('utf8')
  } catch {
    throw new GatewayError('bad_request', 'the body does not have the format that this model needs')
  }
}
