import type { Choice, Exchange, Params, Route } from '../../core/plan.js'
import { splice } from '../../wire/json-edit.js'
import { type Held, mergeQuery } from '../../wire/query.js'
import { UpstreamCall } from '../calls.js'
import type { Admitted } from './admit.js'
import { headerLines, percent } from './format.js'
import { Refused } from './refused.js'

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
  /** After all edits, where a body was given. */
  readonly body?: string
  readonly retry: Pick<Exchange['retry'], 'attempts' | 'on'>
  readonly timeouts: Exchange['timeouts']
}

/** A request that has come as far as its exchanges. */
export interface Resolved {
  readonly route: Route
  readonly params: Params
  readonly query: URLSearchParams | undefined
  readonly admitted: Admitted
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
  const body = edited(exchange, admitted)
  return {
    upstream: upstream.name,
    model,
    method: call.method,
    url: upstream.origin + mergeQuery(target, request.query, isHeld(request.route)),
    headers: headerLines(upstream.shownHeaders),
    ...(body === undefined ? {} : { body }),
    retry: { attempts: retry.attempts, on: retry.on },
    timeouts,
  }
}

/** The caller's key and the model stay here. */
function isHeld(route: Route): Held {
  return name =>
    route.caller.some(place => place.in === 'query' && place.name === name) ||
    (route.model?.from === 'query' && route.model.name === name)
}

function edited(exchange: Exchange, { body, span, model }: Admitted): string | undefined {
  if (body === undefined) return undefined
  const renamed = span !== undefined && exchange.model !== model
  const bytes = renamed ? splice(body, span.start, span.end, Buffer.from(JSON.stringify(exchange.model))) : body
  try {
    return Buffer.from(exchange.request?.(bytes) ?? bytes).toString('utf8')
  } catch {
    throw new Refused('bad_request', 'the body does not have the form that this model needs')
  }
}
