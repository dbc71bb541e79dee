import { codecOf, declaredCodec, estimate, partnersOf, textProtocols } from '../codecs/index.js'
import type { Codec, Traits } from '../core/codec.js'
import type { Config, ModelConfig, TargetConfig, VerbConfig } from '../core/config.js'
import type { Retry, Timeouts } from '../core/limits.js'
import type { Choice, Exchange, Group, Translation } from '../core/plan.js'
import { compileFormVerbs } from './form-verbs.js'
import type { Found } from './models.js'
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
 * Targets whose upstream is on and can serve the route: those that speak its protocol are relayed to, those that speak
 * another one of the same operation, or that keep no state that the protocol has, are translated to.
 */
export function waysOf(
  model: ModelConfig,
  offer: Offer,
  speakers: ReadonlyMap<string, Speaker>,
  config: Pick<Config, 'timeouts' | 'retry' | 'protocols'>,
): Ways {
  if (!isServed(model, offer.protocol)) return []
  const server = codecOf(offer.protocol)
  return groupTargets(model.targets).map(targets =>
    targets.flatMap(target => {
      const speaker = speakers.get(target.upstream)
      if (speaker === undefined || speaker.upstream.off !== undefined) return []
      const traits = { ...speaker.config.traits, ...model.traits, ...target.traits }
      const declared = declaredPartner(server, traits, speaker)
      const spoken = declared === undefined ? speaker.endpoints.get(offer.protocol) : undefined
      const isRelayed = spoken !== undefined && (spoken.keeps !== false || server === undefined)
      if (isRelayed) return [wayOf(target, model, speaker, spoken, undefined, offer, config)]
      // What an upstream does not keep the gateway has to read, and so there is a translation of the protocol to itself.
      const found =
        declared ??
        (server && (spoken === undefined ? partner(server, speaker, traits) : { codec: server, endpoint: spoken }))
      if (server === undefined || found === undefined) return []
      const translation: Translation = {
        server,
        client: found.codec,
        traits,
        strict: offer.strict || model.strict,
        rateLimits: compileRateLimits(
          config.protocols[found.codec.protocol]?.rate_limits,
          config.protocols[offer.protocol]?.rate_limits,
        ),
      }
      return [wayOf(target, model, speaker, found.endpoint, translation, offer, config)]
    }),
  )
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
  { upstream, config: written }: Speaker,
  endpoint: Endpoint,
  translation: Translation | undefined,
  offer: Offer,
  config: Pick<Config, 'timeouts' | 'retry' | 'protocols'>,
): Way {
  const request = [
    // They are in the words of the route's own protocol.
    ...(translation === undefined ? (offer.request ?? []) : []),
    ...written.request,
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
