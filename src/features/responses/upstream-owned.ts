import { copyWith, withOneSecret } from '../../core/keeper.js'
import type { Exchange, Plan, Route } from '../../core/plan.js'
import { mayReach } from '../../core/region.js'
import type { Call as UpstreamCall } from '../../core/upstream-call.js'
import type { Body } from '../../kernel/body.js'
import type { Call } from '../../kernel/call.js'
import { Dispatch } from '../../kernel/dispatch.js'
import type { Failure } from '../../kernel/failure.js'
import { holderAmong } from '../resources/holder.js'
import { isStateful, relayedTo } from './open-turn.js'
import type { KeptResponse } from './stored.js'

const NO_BODY: Body = { type: 'none' }

/** The route that creates responses. */
export function createRoute({ routes }: Plan): Route | undefined {
  return routes.find(route => route.method === 'POST' && isStateful(route))
}

/** The exchange of the upstream that keeps a response; undefined if that one no longer serves the model, or the caller's regions. */
export function exchangeOfOwner(call: Call, { model, upstream }: KeptResponse): Exchange | undefined {
  return holderAmong(relayedTo(exchangesOf(call, model)), upstream)
}

/** The exchanges by which a model creates responses, within the caller's regions. */
export function exchangesOf({ caller, generation }: Call, model: string): readonly Exchange[] {
  const groups = createRoute(generation.plan)?.resolve(model)?.groups ?? []
  const all = groups.flatMap(({ exchanges }) => exchanges)
  return all.filter(({ upstream }) => mayReach(caller?.regions, upstream.region))
}

/** For a route about responses: the exchanges of all upstreams that speak the protocol themselves. */
export function relayedAnywhere(route: Route): readonly Exchange[] {
  return relayedTo((route.resolve('')?.groups ?? []).flatMap(({ exchanges }) => exchanges))
}

/**
 * Calls the upstream that keeps a response, and passes its answer on. `below`: a path below that of creating responses;
 * `onExhausted`: see {@link Dispatch}.
 */
export function askOwner(
  call: Call,
  route: Route,
  exchange: Exchange,
  below: string,
  body = NO_BODY,
  onExhausted?: (failure: Failure) => boolean,
): void {
  new Dispatch(call, route, body, [belowOf(exchange, route.method, below)], onExhausted).start()
}

/** The exchange with another path and method: `/v1/responses?v=1` and `/x` become `/v1/responses/x?v=1`. */
function belowOf(exchange: Exchange, method: string, below: string): Exchange {
  const call: UpstreamCall = {
    method,
    text: `${method} ${exchange.call.text} + ${below}`,
    target: variables => {
      const target = exchange.call.target(variables)
      const mark = target.indexOf('?')
      return mark < 0 ? target + below : target.slice(0, mark) + below + target.slice(mark)
    },
  }
  return copyWith(withOneSecret(exchange), { call, streamCall: call, request: undefined, response: undefined })
}
