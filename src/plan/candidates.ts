import { codecOf, declaredCodec, estimate, partnersOf, textProtocols, writesFormsAsJson } from '../codecs/index.js'
import type { Codec, Traits } from '../core/codec.js'
import type { Config, ModelConfig, TargetConfig, VerbConfig } from '../core/config.js'
import type { Retry, Timeouts } from '../core/limits.js'
import type { Choice, Exchange, Group, Translation } from '../core/plan.js'
import { amountsOf } from '../core/price-fit.js'
import { routingOf } from '../core/strategy.js'
import { compileFormVerbs } from './form-verbs.js'
import type { Found } from './model-index.js'
import { compileAmounts, compileUsage } from './protocols.js'
import { compileRateLimits, compileResets } from './rate-limits.js'
import { mergeHealth, mergeRetry, mergeTimeouts } from './settings.js'
import { shapeOf } from './shape.js'
import type { RouteTariffs } from './tariffs.js'
import { taskTargetOf } from './tasks.js'
import { upstreamName } from './upstream-name.js'
import type { CompiledUpstream, Endpoint } from './upstreams.js'
import { verbAmounts } from './verb-amounts.js'
import { compileVerbs } from './verbs.js'
import { groupTargets } from './weights.js'

/** What the configuration says beside models and upstreams. */
type Settings = Pick<Config, 'timeouts' | 'retry' | 'health' | 'protocols' | 'accounting'>

/** A route's settings for its exchanges. */
export interface ExchangeSettings {
  readonly protocol: string
  readonly timeouts: Partial<Timeouts>
  readonly retry: Partial<Retry>
  readonly strict: boolean
  readonly request?: readonly VerbConfig[]
  /** Whether requests may be multipart forms. */
  readonly forms?: boolean
  /** Whether the body is a batch of another route's requests: the upstream's own verbs then apply to each request inside, not to the batch. */
  readonly batch?: boolean
}

/** An exchange without its model's names: one is known only when a request arrives, and models of one shape share the rest. */
type Unnamed = Omit<Exchange, 'model' | 'declared'>

interface Candidate {
  readonly exchange: Unnamed
  /** The same with each of the upstream's other secrets. */
  readonly others: readonly Unnamed[]
  readonly endpoint: Endpoint
  /** Index into the model's targets. Models of one shape share candidates, but each has its own upstream names. */
  readonly target: number
  readonly weight: number
}

/** Grouped as in {@link Choice}; a group may be empty. */
export type CandidateGroups = readonly (readonly Candidate[])[]

/** How a target serves a route. */
interface Served {
  readonly compiled: CompiledUpstream
  readonly endpoint: Endpoint
  /** `undefined`: relay without translation. */
  readonly codecs: { readonly server: Codec; readonly client: Codec } | undefined
  readonly traits: Traits
}

/** Candidates for the targets of a model that can serve the route. */
export function candidatesOf(
  model: ModelConfig,
  settings: ExchangeSettings,
  upstreams: ReadonlyMap<string, CompiledUpstream>,
  config: Settings,
): CandidateGroups {
  return groupTargets(model.targets, model.strategy).map(targets =>
    targets.flatMap(target => {
      const served = servedBy(target, model, settings, upstreams)
      if (served === undefined) return []
      const made = (one: Served): Unnamed => ({
        ...exchangeOf(target, model, one, settings, config),
        ...awaitedOf(one, settings.protocol, config),
      })
      const others = othersOf(served).map(made)
      const exchange = made(served)
      return [
        {
          exchange,
          others,
          endpoint: served.endpoint,
          target: model.targets.indexOf(target),
          weight: target.weight ?? 1,
        },
      ]
    }),
  )
}

/**
 * A target can serve a route if its upstream is enabled. An upstream with the route's protocol gets the request relayed. One with
 * another protocol of the same operation, or without the state that the protocol requires, gets it translated.
 */
export function servedBy(
  target: TargetConfig,
  model: ModelConfig,
  settings: ExchangeSettings,
  upstreams: ReadonlyMap<string, CompiledUpstream>,
): Served | undefined {
  const compiled = isServed(model, settings.protocol) ? upstreams.get(target.upstream) : undefined
  if (compiled === undefined || compiled.upstream.off !== undefined) return undefined
  const server = codecOf(settings.protocol)
  const traits = { ...compiled.config.traits, ...model.traits, ...target.traits }
  const declared = declaredPartner(server, traits, compiled)
  const spoken = declared === undefined ? compiled.endpoints.get(settings.protocol) : undefined
  if (spoken !== undefined && isRelayed(spoken, server))
    return { compiled, endpoint: spoken, codecs: undefined, traits }
  // What is kept in the upstream's stead must be read, and so must forms that it takes as JSON: the protocol is translated to itself.
  const found =
    declared ??
    (server && (spoken === undefined ? partner(server, compiled, traits) : { codec: server, endpoint: spoken }))
  if (server === undefined || found === undefined) return undefined
  return { compiled, endpoint: found.endpoint, codecs: { server, client: found.codec }, traits }
}

/** Whether an upstream that speaks the client's protocol gets its requests as they are. */
function isRelayed({ stateful, forms }: Endpoint, server: Codec | undefined): boolean {
  return server === undefined || (stateful !== false && !(forms !== undefined && writesFormsAsJson(server)))
}

/** A family name in `protocols` covers all of its protocols. */
function isServed({ protocols }: Pick<ModelConfig, 'protocols'>, protocol: string): boolean {
  return protocols === undefined || protocols.some(name => protocol === name || protocol.startsWith(`${name}.`))
}

/** A route of another protocol lacks this protocol's path parameters, so the call may use `{model}` only. */
function needsModelAlone({ call, stream }: Endpoint): boolean {
  return [...call.variables, ...stream.variables].every(name => name === 'model')
}

interface Partner {
  readonly codec: Codec
  readonly endpoint: Endpoint
}

/** The upstream's best protocol that the client's protocol can be translated to. */
function partner(server: Codec, compiled: CompiledUpstream, traits: Traits): Partner | undefined {
  // A protocol that generates images but accepts none cannot edit them.
  if (server.operation === 'edit' && traits.images !== undefined) return undefined
  const { endpoints } = compiled
  for (const codec of partnersOf(server)) {
    const endpoint = endpoints.get(codec.protocol)
    if (endpoint !== undefined && needsModelAlone(endpoint)) return { codec, endpoint }
  }
  if (server.operation !== 'count') return undefined
  // The upstream generates text but has no counting endpoint: the gateway estimates.
  const endpoint = textPartner(compiled)?.endpoint
  return endpoint && { codec: estimate, endpoint }
}

/** The partner that the model's traits declare. */
function declaredPartner(
  server: Codec | undefined,
  traits: Traits,
  { endpoints }: CompiledUpstream,
): Partner | undefined {
  const endpointOf = (protocol: string): Endpoint | undefined => {
    const endpoint = endpoints.get(protocol)
    return endpoint !== undefined && needsModelAlone(endpoint) ? endpoint : undefined
  }
  const codec = declaredCodec(server, traits, protocol => endpointOf(protocol) !== undefined)
  const endpoint = codec && endpointOf(codec.protocol)
  return codec && endpoint && { codec, endpoint }
}

/** The best text protocol that the upstream supports. */
function textPartner({ endpoints }: CompiledUpstream): Partner | undefined {
  for (const protocol of textProtocols()) {
    const codec = codecOf(protocol)
    const endpoint = endpoints.get(protocol)
    if (codec !== undefined && endpoint !== undefined && needsModelAlone(endpoint)) return { codec, endpoint }
  }
  return undefined
}

/** The same with each of the upstream's other secrets. */
function othersOf(served: Served): readonly Served[] {
  const { others, endpoints } = served.compiled
  const protocol = [...endpoints].find(([, endpoint]) => endpoint === served.endpoint)?.[0]
  return others.flatMap(compiled => {
    const endpoint = compiled.endpoints.get(protocol ?? '')
    return endpoint === undefined ? [] : [{ ...served, compiled, endpoint }]
  })
}

/** How the upstream's work is followed, where the answer of a plain request says only that it has begun. */
function awaitedOf(
  { compiled, endpoint, codecs }: Served,
  protocol: string,
  config: Settings,
): Pick<Unnamed, 'awaited'> {
  const awaited = endpoint.task && codecs === undefined ? taskTargetOf(protocol, compiled, {}, config) : undefined
  return awaited === undefined ? {} : { awaited }
}

function exchangeOf(
  target: TargetConfig,
  model: ModelConfig,
  { compiled: { upstream, config: written }, endpoint, codecs, traits }: Served,
  settings: ExchangeSettings,
  config: Settings,
): Unnamed {
  const translation: Translation | undefined = codecs && {
    ...codecs,
    traits,
    strict: settings.strict || model.strict,
    rateLimits: compileRateLimits(
      config.protocols[codecs.client.protocol]?.rate_limits,
      config.protocols[settings.protocol]?.rate_limits,
    ),
    usage: compileUsage(config.protocols[codecs.client.protocol]?.usage),
  }
  const spoken = codecs?.client.protocol ?? settings.protocol
  const resets = compileResets(config.protocols[spoken]?.rate_limits)
  const request = [
    // The route's verbs use the fields of its own protocol, so they do not apply to translated requests.
    ...(translation === undefined ? (settings.request ?? []) : []),
    ...(settings.batch === true ? [] : written.request),
    ...endpoint.request,
    ...model.request,
    ...target.request,
  ]
  const failures = config.protocols[spoken]?.failures
  const adds = config.accounting && verbAmounts(request, compileAmounts(amountsOf(config.protocols, spoken)))
  const shape = shapeOf(request, endpoint.sends)
  return {
    upstream,
    translation,
    call: endpoint.call,
    // In translation only text is streamed; other operations request a whole document.
    streamCall: translation !== undefined && translation.client.operation !== 'text' ? endpoint.call : endpoint.stream,
    request: compileVerbs(request),
    ...(shape === undefined ? {} : { shape }),
    // Translated requests are sent as JSON.
    form:
      settings.forms === true && endpoint.forms === undefined && translation === undefined
        ? compileFormVerbs(request)
        : undefined,
    ...(endpoint.forms !== undefined && { formsAs: endpoint.forms }),
    ...(endpoint.answers !== undefined && translation === undefined && { answers: endpoint.answers }),
    response: compileVerbs([...target.response, ...model.response, ...endpoint.response, ...written.response]),
    timeouts: mergeTimeouts(config.timeouts, written.timeouts, settings.timeouts, model.timeouts),
    retry: mergeRetry(config.retry, written.retry, settings.retry, model.retry),
    ...mergeHealth(config.health, written.health, model.health),
    ...(failures === undefined ? {} : { failures }),
    ...(target.when === undefined ? {} : { when: target.when }),
    ...(resets !== undefined && { resets }),
    ...(model.stream !== undefined && { contract: model.stream }),
    ...(model.hedge !== undefined && { hedge: model.hedge }),
    ...(adds !== undefined && { adds }),
    ...(config.accounting !== undefined && { output: traits }),
  }
}

/** The exchanges that serve one model name; `undefined` if there are none. */
export function choose(
  candidates: CandidateGroups,
  name: string,
  found: Found,
  tariffs?: RouteTariffs,
): Choice | undefined {
  const groups = candidates.map(group => named(group, name, found, tariffs)).filter(group => group.exchanges.length > 0)
  if (groups.length === 0) return undefined
  const routing = routingOf(found.model.config)
  return routing === undefined ? { groups } : { groups, routing }
}

/** Whether {@link choose} would return a choice. */
export function isServing(candidates: CandidateGroups, name: string, found: Found): boolean {
  return candidates.some(group => group.some(candidate => modelOf(candidate, name, found) !== undefined))
}

function named(candidates: readonly Candidate[], name: string, found: Found, tariffs: RouteTariffs | undefined): Group {
  const exchanges: Exchange[] = []
  const weights: number[] = []
  for (const candidate of candidates) {
    const model = modelOf(candidate, name, found)
    if (model === undefined) continue
    const tariff = tariffs?.of(found, candidate.exchange.upstream.name, model, name)
    const declared = found.model.name
    exchanges.push(withSecrets(candidate, { model, declared, ...(tariff === undefined ? {} : { tariff }) }))
    weights.push(candidate.weight)
  }
  return { exchanges, weights }
}

/** The exchange of the first secret; each one knows those of the others. */
function withSecrets(
  { exchange, others }: Candidate,
  named: Pick<Exchange, 'model' | 'declared' | 'tariff'>,
): Exchange {
  if (others.length === 0) return { ...exchange, ...named }
  const secrets: Exchange[] = []
  const first = { ...exchange, ...named, secrets }
  secrets.push(first, ...others.map(one => ({ ...one, ...named, secrets })))
  return first
}

function modelOf({ target, endpoint }: Candidate, name: string, found: Found): string | undefined {
  return upstreamName(name, found, found.model.config.targets[target]?.as, endpoint)
}
