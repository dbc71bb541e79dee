import { estimate } from '../../codecs/index.js'
import type { Traits } from '../../core/codec.js'
import { jsonText } from '../../core/exact-json.js'
import type { Params } from '../../core/params.js'
import type { Choice, Exchange, Route, Translation } from '../../core/plan.js'
import { tookNothing } from '../../core/task.js'
import { asBuffer } from '../../wire/bytes.js'
import { apply, firstMember, splice } from '../../wire/json-edit.js'
import { type Held, mergeQuery } from '../../wire/query.js'
import { UpstreamCall } from '../calls.js'
import type { Admitted } from './admit.js'
import { headerLines, percent } from './format.js'
import { Refused } from './refused.js'
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
  /** The body is passed on as it comes, so it is sent once, whatever `retry` says. */
  readonly streamed: boolean
  readonly retry: Pick<Exchange['retry'], 'attempts' | 'on'>
  readonly timeouts: Exchange['timeouts']
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
  /** Nobody is called: the gateway answers by itself. */
  readonly estimated?: true
  /** What is left out of the body that was given, `name: why`. */
  readonly lost?: readonly string[]
}

/** A request that has come as far as its exchanges. */
export interface Resolved {
  readonly route: Route
  readonly params: Params
  readonly query: URLSearchParams | undefined
  readonly admitted: Admitted
  /** Whether the caller's key is strict. */
  readonly strict: boolean
}

/** The ways of a choice, in order. */
export function exchangeFacts({ groups }: Choice, request: Resolved): readonly ExchangeFacts[] {
  return groups.flatMap(({ exchanges, weights }, index) => {
    const sum = weights.reduce((total, weight) => total + weight, 0)
    return exchanges.map((exchange, member): ExchangeFacts => {
      const share = exchanges.length === 1 ? {} : { share: percent(weights[member] ?? 1, sum) }
      return { group: index + 1, ...share, ...factsOf(exchange, request) }
    })
  })
}

function factsOf(exchange: Exchange, request: Resolved): Omit<ExchangeFacts, 'group' | 'share'> {
  const { upstream, model, retry, timeouts } = exchange
  const { admitted, params } = request
  const call = admitted.stream ? exchange.streamCall : exchange.call
  const variables = { ...params, model }
  const target = call instanceof UpstreamCall ? call.shown(variables) : call.text
  const translation = exchange.translation && {
    ...exchange.translation,
    strict: exchange.translation.strict || request.strict,
  }
  const isAsked = translation?.client !== estimate
  const translated = translation && isAsked ? translatedFrom(exchange, translation, admitted) : undefined
  const body = isAsked ? edited(exchange, admitted, translated) : undefined
  return {
    upstream: upstream.name,
    model,
    method: call.method,
    url: upstream.origin + mergeQuery(target, request.query, isHeld(request.route, exchange)),
    headers: headerLines(upstream.shownHeaders),
    ...(translation === undefined ? {} : { translation: translationFacts(translation, translated) }),
    ...(body === undefined ? {} : { body }),
    // What may have begun something is not sent again, whatever `retry` says.
    retry: { attempts: retry.attempts, on: request.route.task === undefined ? retry.on : retry.on.filter(tookNothing) },
    streamed: request.route.body === 'raw',
    timeouts,
  }
}

/** The caller's key and the model stay here, what says where things are to be, and what is not known of a body's route. */
function isHeld(route: Route, { upstream }: Exchange): Held {
  const { openQuery, of } = route.members
  return name =>
    (!openQuery && of(upstream.name).query.get(name) !== 'pass') ||
    route.caller.some(place => place.in === 'query' && place.name === name) ||
    route.holder.some(hint => hint.from === 'query' && hint.name === name) ||
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
  return translated === undefined ? facts : { ...facts, lost: translated.lost }
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
    throw new Refused('bad_request', 'the body does not have the form that this model needs')
  }
}
