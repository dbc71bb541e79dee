import type {
  CallConfig,
  Config,
  CredentialConfig,
  EndpointConfig,
  UpstreamConfig,
  VerbConfig,
} from '../core/config.js'
import { OWN_HEADERS } from '../core/header-list.js'
import { keeperName } from '../core/keeper.js'
import type { Upstream } from '../core/plan.js'
import type { Secret } from '../core/secret.js'
import type { AnswerFormat, BodyFormat, FormsAs } from '../core/shape.js'
import type { Steps } from '../core/steps.js'
import type { TaskShapeConfig } from '../core/task.js'
import type { CheapestCall, UpstreamProbe } from '../core/upstream-call.js'
import { UpstreamCall } from './calls.js'
import { credentialReference, type Placed, placeCredential } from './credential.js'
import { definitionOf } from './definition.js'
import { requestFilter, responseFilter } from './headers.js'
import { mergeHealth, mergeTimeouts } from './settings.js'
import { namesInPath } from './shape.js'

/** An upstream with its compiled endpoints, by protocol. */
export interface CompiledUpstream {
  readonly upstream: Upstream
  readonly config: UpstreamConfig
  readonly endpoints: ReadonlyMap<string, Endpoint>
  /** The same upstream with each of its other secrets. */
  readonly others: readonly CompiledUpstream[]
  /** The same upstream with its previous credentials. */
  readonly former: readonly CompiledUpstream[]
}

/** How an upstream serves a protocol. */
export interface Endpoint {
  readonly call: UpstreamCall
  /** Equal to `call` if streams have no call of their own. */
  readonly stream: UpstreamCall
  /** False if the upstream does not store what later requests of its protocol may refer to. */
  readonly stateful?: false
  readonly request: readonly VerbConfig[]
  readonly response: readonly VerbConfig[]
  /** Forms are sent as JSON objects. */
  readonly forms?: FormsAs
  /** JSON is sent in this format. */
  readonly sends?: BodyFormat
  /** Answers reach clients in this format. */
  readonly answers?: AnswerFormat
  readonly task?: TaskShapeConfig
}

/** `callerHeaders` may carry callers' keys, so they are never forwarded to an upstream. */
export function* compileUpstreams(
  config: Config,
  callerHeaders: ReadonlySet<string>,
): Steps<ReadonlyMap<string, CompiledUpstream>> {
  const compiled = new Map<string, CompiledUpstream>()
  for (const [name, upstream] of Object.entries(config.upstreams)) {
    compiled.set(name, compileUpstream(name, upstream, config, callerHeaders))
    yield
  }
  return compiled
}

function compileUpstream(
  name: string,
  config: UpstreamConfig,
  { timeouts, health }: Pick<Config, 'timeouts' | 'health'>,
  callerHeaders: ReadonlySet<string>,
  shared = { isOneOfSeveral: config.otherSecrets !== undefined, definition: definitionOf(name, config) },
): CompiledUpstream {
  const { origin, prefix } = locate(config.base)
  const credential = placeCredential(config.credential)
  const declared = withYielding(declaredHeaders(config.headers, credential), config.forward.request)
  // A declared header that `forward` names in full is a default: the client's own value replaces it.
  const fixed = namesOf(declared).filter(header => !config.forward.request.includes(header))
  const held = [...callerHeaders, ...credentialNames(credential, config), ...fixed]
  const secret = config.credential?.secret
  const alike = (secrets: readonly Secret[]): readonly CompiledUpstream[] =>
    secrets.flatMap(one => {
      if (config.credential === undefined) return []
      const { otherSecrets: _, ...rest } = config
      const other = { ...rest, credential: withSecret(config.credential, one), previousSecrets: [] }
      return [compileUpstream(name, other, { timeouts, health }, callerHeaders, shared)]
    })
  const others = alike(config.otherSecrets ?? [])
  const former = alike(config.previousSecrets)
  const reference = secret && credentialReference(name, secret)
  const supported = Object.entries(config.speaks)
  const endpoints = new Map(supported.map(([protocol, one]) => [protocol, compileEndpoint(one, prefix, credential)]))
  const cheapest = cheapestCall(config, health, call => new UpstreamCall(call, prefix, credential))
  const probe = cheapest && compileProbe(config, health, cheapest)
  const upstream: Upstream = {
    name,
    definition: shared.definition,
    kind: config.kind,
    origin,
    off: config.off,
    headers: [...credential.headers, ...declared],
    shownHeaders: [...credential.shownHeaders, ...declared],
    secret,
    hidden: credential.hidden,
    ...(credential.source === undefined ? {} : { source: credential.source }),
    credential: reference,
    former: former.map(one => one.upstream),
    others: others.map(one => one.upstream),
    keeper: shared.isOneOfSeveral && reference !== undefined ? keeperName(name, reference) : name,
    ...(cheapest === undefined ? {} : { cheapest }),
    ...(probe === undefined ? {} : { probe }),
    passesUnknown: config.passesUnknown,
    forward: {
      request: requestFilter(config.forward, held),
      response: responseFilter(config.forward.response),
    },
    connect: mergeTimeouts(timeouts, config.timeouts).connect,
    ...(config.egress === undefined ? {} : { egress: config.egress }),
    ...(config.region === undefined ? {} : { region: config.region }),
    ...(config.recordings === undefined ? {} : { recordings: config.recordings }),
  }
  return { upstream, config, endpoints, others, former }
}

function compileEndpoint(config: EndpointConfig, prefix: string, credential: Placed): Endpoint {
  const { request, response, stateful, forms, sends, answers, task } = config
  const sent = namesInPath(request)
  const call = new UpstreamCall(config.call, prefix, credential, sent)
  const stream = config.stream === undefined ? call : new UpstreamCall(config.stream, prefix, credential, sent)
  return {
    call,
    stream,
    ...(stateful === undefined ? {} : { stateful }),
    request,
    response,
    ...(forms === undefined ? {} : { forms }),
    ...(sends === undefined ? {} : { sends }),
    ...(answers === undefined ? {} : { answers }),
    ...(task === undefined ? {} : { task }),
  }
}

function cheapestCall(
  { health: own, speaks }: UpstreamConfig,
  all: Config['health'],
  compile: (call: CallConfig) => UpstreamCall,
): CheapestCall | undefined {
  const probe = own?.probe ?? all.probe
  const call = probe?.call ?? speaks.models?.call
  if (call === undefined) return undefined
  return { call: compile(call), body: probe?.body === undefined ? null : Buffer.from(JSON.stringify(probe.body)) }
}

/** Undefined where none is declared. */
function compileProbe(
  { health: own }: UpstreamConfig,
  all: Config['health'],
  cheapest: CheapestCall,
): UpstreamProbe | undefined {
  const probe = own?.probe ?? all.probe
  const { health: rule } = mergeHealth(all, own)
  if (probe === undefined || rule === undefined) return undefined
  return { ...cheapest, every: probe.every, timeout: probe.timeout, rule }
}

/** `embedded:` addresses have no path. */
function locate(base: string): { readonly origin: string; readonly prefix: string } {
  const { origin, protocol, pathname } = new URL(base)
  if (protocol === 'embedded:') return { origin: base, prefix: '' }
  return { origin, prefix: pathname === '/' ? '' : pathname }
}

/** The same credential with another secret, also where that gets tokens. */
function withSecret(credential: CredentialConfig, secret: Secret): CredentialConfig {
  const { source } = credential
  if (source?.type === 'oauth2' || source?.type === 'module')
    return { ...credential, secret, source: { ...source, secret } }
  if (source?.type === 'jwt' && source.key.key === credential.secret)
    return { ...credential, secret, source: { ...source, key: { ...source.key, key: secret } } }
  return { ...credential, secret }
}

/** Headers of the gateway's own that `forward` names in full are defaults, like declared ones. */
function withYielding(declared: readonly string[], forward: readonly string[]): readonly string[] {
  const known = new Set(namesOf(declared))
  const own = [...OWN_HEADERS].filter(([name]) => forward.includes(name) && !known.has(name))
  return [...declared, ...own.flat()]
}

/** The credential replaces declared headers of the same names. */
function declaredHeaders(headers: Readonly<Record<string, string>>, { shownHeaders }: Placed): readonly string[] {
  const held = new Set(namesOf(shownHeaders))
  return Object.entries(headers)
    .map(([name, value]) => [name.toLowerCase(), value])
    .filter(([name = '']) => !held.has(name))
    .flat()
}

/** Headers that carry the credential, or would carry it if the upstream had one. */
function credentialNames({ shownHeaders }: Placed, { credential }: UpstreamConfig): readonly string[] {
  const names = [...namesOf(shownHeaders), ...(credential?.source?.type === 'aws-sigv4' ? SIGNATURE_HEADERS : [])]
  return credential?.place.in === 'header' ? [...names, credential.place.name.toLowerCase()] : names
}

/** Headers of a signature beside `authorization`. */
const SIGNATURE_HEADERS = ['x-amz-date', 'x-amz-security-token', 'x-amz-content-sha256']

/** The names in a flat list of name, value, name, value. */
function namesOf(headers: readonly string[]): readonly string[] {
  return headers.filter((_, index) => index % 2 === 0)
}
