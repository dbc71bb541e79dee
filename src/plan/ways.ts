import { codecOf, declaredCodec, estimate, partnersOf, textProtocols } from '../codecs/index.js'
import type { Codec, Traits } from '../core/codec.js'
import type { Config, ModelConfig, TargetConfig, VerbConfig } from '../core/config.js'
import type { Retry, Timeouts } from '../core/limits.js'
import type { Choice, Exchange, Group, Translation } from '../core/plan.js'
import { compileFormVerbs } from './form-verbs.js'
import type { Found } from './model-index.js'
import { compileUsage } from './protocols.js'
import { compileRateLimits } from './rate-limits.js'
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
  readonly strict: boolean
  readonly request?: readonly VerbConfig[]
  /** Whether requests may be forms. */
  readonly forms?: boolean
  /** Whether requests hold those of another route: what the upstream has declared for all requests is done to each of them. */
  readonly batch?: boolean
}

/** An exchange but for the name of the model: all of it that is known before a client names one. */
export interface Way {
  readonly exchange: Omit<Exchange, 'model'>
  readonly endpoint: Endpoint
  /** Which of the model's targets it is: models of one shape share ways, and each has its own names for its targets. */
  readonly target: number
  readonly weight: number
}

/** In groups, as in {@link Choice}; groups may be empty. */
export type Ways = readonly (readonly Way[])[]

/** How a target is asked on a route. */
export interface Served {
  readonly speaker: Speaker
  readonly endpoint: Endpoint
  /** Absent: it is relayed to. */
  readonly codecs: { readonly server: Codec; readonly client: Codec } | undefined
  readonly traits: Traits
}

/** Ways to the targets of a model that can serve the route. */
export function waysOf(
  model: ModelConfig,
  offer: Offer,
  speakers: ReadonlyMap<string, Speaker>,
  config: Pick<Config, 'timeouts' | 'retry' | 'protocols'>,
): Ways {
  return groupTargets(model.targets).map(targets =>
    targets.flatMap(target => {
      const served = servedBy(target, model, offer, speakers)
      return served === undefined ? [] : [wayOf(target, model, served, offer, config)]
    }),
  )
}

/**
 * A target can serve a route where its upstream is on: what speaks the route's protocol is relayed to, what speaks another
 * one of the same operation, or keeps no state that the protocol has, is translated to.
 */
export function servedBy(
  target: TargetConfig,
  model: ModelConfig,
  offer: Offer,
  speakers: ReadonlyMap<string, Speaker>,
): Served | undefined {
  const speaker = isServed(model, offer.protocol) ? speakers.get(target.upstream) : undefined
  if (speaker === undefined || speaker.upstream.off !== undefined) return undefined
  const server = codecOf(offer.protocol)
  const traits = { ...speaker.config.traits, ...model.traits, ...target.traits }
  const declared = declaredPartner(server, traits, speaker)
  const spoken = declared === undefined ? speaker.endpoints.get(offer.protocol) : undefined
  const isRelayed = spoken !== undefined && (spoken.keeps !== false || server === undefined)
  if (isRelayed) return { speaker, endpoint: spoken, codecs: undefined, traits }
  // What an upstream does not keep the gateway has to read, and so there is a translation of the protocol to itself.
  const found =
    declared ??
    (server && (spoken === undefined ? partner(server, speaker, traits) : { codec: server, endpoint: spoken }))
  if (server === undefined || found === undefined) return undefined
  return { speaker, endpoint: found.endpoint, codecs: { server, client: found.codec }, traits }
}

/** A family stands for all of its protocols. */
export function isServed({ serves }: Pick<ModelConfig, 'serves'>, protocol: string): boolean {
  return serves === undefined || serves.some(name => protocol === name || protocol.startsWith(`${name}.`))
}

/** A route of another protocol has no parameters of this one's to fill its call in with. */
export function needsModelAlone({ call, stream }: Endpoint): boolean {
  return [...call.variables, ...stream.variables].every(name => name === 'model')
}

interface Partner {
  readonly codec: Codec
  readonly endpoint: Endpoint
}

/** The best protocol of the upstream's that the client's can be translated to. */
function partner(server: Codec, speaker: Speaker, traits: Traits): Partner | undefined {
  // A model that is declared to make images by a protocol that takes none cannot change any.
  if (server.operation === 'edit' && traits.images !== undefined) return undefined
  const { endpoints } = speaker
  for (const codec of partnersOf(server)) {
    const endpoint = endpoints.get(codec.protocol)
    if (endpoint !== undefined && needsModelAlone(endpoint)) return { codec, endpoint }
  }
  if (server.operation !== 'count') return undefined
  // Whoever generates text but counts nothing: the gateway estimates.
  const endpoint = textPartner(speaker)?.endpoint
  return endpoint && { codec: estimate, endpoint }
}

/** What a model is declared to be asked by. */
function declaredPartner(server: Codec | undefined, traits: Traits, { endpoints }: Speaker): Partner | undefined {
  const endpointOf = (protocol: string): Endpoint | undefined => {
    const endpoint = endpoints.get(protocol)
    return endpoint !== undefined && needsModelAlone(endpoint) ? endpoint : undefined
  }
  const codec = declaredCodec(server, traits, protocol => endpointOf(protocol) !== undefined)
  const endpoint = codec && endpointOf(codec.protocol)
  return codec && endpoint && { codec, endpoint }
}

/** The best protocol of texts that the upstream speaks. */
function textPartner({ endpoints }: Speaker): Partner | undefined {
  for (const protocol of textProtocols()) {
    const codec = codecOf(protocol)
    const endpoint = endpoints.get(protocol)
    if (codec !== undefined && endpoint !== undefined && needsModelAlone(endpoint)) return { codec, endpoint }
  }
  return undefined
}

function wayOf(
  target: TargetConfig,
  model: ModelConfig,
  { speaker: { upstream, config: written }, endpoint, codecs, traits }: Served,
  offer: Offer,
  config: Pick<Config, 'timeouts' | 'retry' | 'protocols'>,
): Way {
  const translation: Translation | undefined = codecs && {
    ...codecs,
    traits,
    strict: offer.strict || model.strict,
    rateLimits: compileRateLimits(
      config.protocols[codecs.client.protocol]?.rate_limits,
      config.protocols[offer.protocol]?.rate_limits,
    ),
    usage: compileUsage(config.protocols[codecs.client.protocol]?.usage),
  }
  const request = [
    // They are in the words of the route's own protocol.
    ...(translation === undefined ? (offer.request ?? []) : []),
    ...(offer.batch === true ? [] : written.request),
    ...endpoint.request,
    ...model.request,
    ...target.request,
  ]
  return {
    exchange: {
      upstream,
      translation,
      call: endpoint.call,
      // Of another protocol only texts are streamed: what comes whole is asked for as a document.
      streamCall:
        translation !== undefined && translation.client.operation !== 'text' ? endpoint.call : endpoint.stream,
      request: compileVerbs(request),
      // What is translated goes out as JSON.
      form:
        offer.forms === true && endpoint.forms !== 'json' && translation === undefined
          ? compileFormVerbs(request)
          : undefined,
      takesJsonAlone: endpoint.forms === 'json',
      response: compileVerbs([...target.response, ...model.response, ...endpoint.response, ...written.response]),
      timeouts: mergeTimeouts(config.timeouts, written.timeouts, offer.timeouts, model.timeouts),
      retry: mergeRetry(config.retry, written.retry, offer.retry, model.retry),
    },
    endpoint,
    target: model.targets.indexOf(target),
    weight: target.weight ?? 1,
  }
}

/** The ways to serve one name; `undefined` where there are none. */
export function choose(ways: Ways, name: string, found: Found): Choice | undefined {
  const groups = ways.map(group => named(group, name, found)).filter(group => group.exchanges.length > 0)
  return groups.length === 0 ? undefined : { groups }
}

/** Whether {@link choose} would give something. */
export function isServing(ways: Ways, name: string, found: Found): boolean {
  return ways.some(group => group.some(way => modelOf(way, name, found) !== undefined))
}

function named(ways: readonly Way[], name: string, found: Found): Group {
  const exchanges: Exchange[] = []
  const weights: number[] = []
  for (const way of ways) {
    const model = modelOf(way, name, found)
    if (model === undefined) continue
    exchanges.push({ ...way.exchange, model })
    weights.push(way.weight)
  }
  return { exchanges, weights }
}

function modelOf({ target, endpoint }: Way, name: string, found: Found): string | undefined {
  return upstreamName(name, found, found.model.config.targets[target]?.as, endpoint)
}
