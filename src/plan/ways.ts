import type { Config, ModelConfig, TargetConfig } from '../core/config.js'
import type { Retry, Timeouts } from '../core/limits.js'
import type { Choice, Exchange, Group } from '../core/plan.js'
import type { Found } from './models.js'
import { mergeRetry, mergeTimeouts } from './settings.js'
import { upstreamName } from './upstream-name.js'
import type { Endpoint, Speaker } from './upstreams.js'
import { compileVerbs } from './verbs.js'
import { groupTargets } from './weights.js'

/** What a route says of its exchanges. */
export interface Offer {
  readonly protocol: string
  readonly timeouts: Partial<Timeouts>
  readonly retry: Partial<Retry>
}

/** An exchange but for the name of the model: all of it that is known before a client names one. */
export interface Way {
  readonly exchange: Omit<Exchange, 'model'>
  readonly endpoint: Endpoint
  readonly as: string | undefined
  readonly weight: number
}

/** In groups, as in {@link Choice}; groups may be empty. */
export type Ways = readonly (readonly Way[])[]

/**
 * Targets whose upstream is on and speaks the route's protocol. The others are where translated exchanges will come
 * from.
 */
export function waysOf(
  model: ModelConfig,
  offer: Offer,
  speakers: ReadonlyMap<string, Speaker>,
  config: Pick<Config, 'timeouts' | 'retry'>,
): Ways {
  return groupTargets(model.targets).map(targets =>
    targets.flatMap(target => {
      const speaker = speakers.get(target.upstream)
      const endpoint = speaker?.endpoints.get(offer.protocol)
      if (speaker === undefined || endpoint === undefined || speaker.upstream.off !== undefined) return []
      return [wayOf(target, model, speaker, endpoint, offer, config)]
    }),
  )
}

function wayOf(
  target: TargetConfig,
  model: ModelConfig,
  { upstream, config: written }: Speaker,
  endpoint: Endpoint,
  offer: Offer,
  config: Pick<Config, 'timeouts' | 'retry'>,
): Way {
  return {
    exchange: {
      upstream,
      lane: 'relay',
      call: endpoint.call,
      streamCall: endpoint.stream,
      request: compileVerbs([...written.request, ...endpoint.request, ...model.request, ...target.request]),
      response: compileVerbs([...target.response, ...model.response, ...endpoint.response, ...written.response]),
      timeouts: mergeTimeouts(config.timeouts, written.timeouts, offer.timeouts, model.timeouts),
      retry: mergeRetry(config.retry, written.retry, offer.retry, model.retry),
    },
    endpoint,
    as: target.as,
    weight: target.weight ?? 1,
  }
}

/** The ways to serve one name; `undefined` where there are none. */
export function choose(ways: Ways, name: string, found: Found): Choice | undefined {
  const groups = ways.map(group => named(group, name, found)).filter(group => group.exchanges.length > 0)
  return groups.length === 0 ? undefined : { groups }
}

function named(ways: readonly Way[], name: string, found: Found): Group {
  const exchanges: Exchange[] = []
  const weights: number[] = []
  for (const { exchange, endpoint, as, weight } of ways) {
    const model = upstreamName(name, found, as, endpoint)
    if (model === undefined) continue
    exchanges.push({ ...exchange, model })
    weights.push(weight)
  }
  return { exchanges, weights }
}
