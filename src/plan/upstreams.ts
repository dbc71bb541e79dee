import type { Config, EndpointConfig, UpstreamConfig, VerbConfig } from '../core/config.js'
import type { Upstream } from '../core/plan.js'
import type { Steps } from '../core/steps.js'
import type { TaskShapeConfig } from '../core/task.js'
import { UpstreamCall } from './calls.js'
import { credentialReference, type Placed, placeCredential } from './credential.js'
import { requestFilter, responseFilter } from './headers.js'
import { mergeTimeouts } from './settings.js'

/** An upstream with its compiled endpoints, by protocol. */
export interface CompiledUpstream {
  readonly upstream: Upstream
  readonly config: UpstreamConfig
  readonly endpoints: ReadonlyMap<string, Endpoint>
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
  readonly forms?: 'json'
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
  { timeouts }: Pick<Config, 'timeouts'>,
  callerHeaders: ReadonlySet<string>,
): CompiledUpstream {
  const { origin, prefix } = locate(config.base)
  const credential = placeCredential(config.credential)
  const declared = declaredHeaders(config.headers, credential)
  // A declared header that `forward` names in full is a default: the client's own value replaces it.
  const fixed = namesOf(declared).filter(header => !config.forward.request.includes(header))
  const held = [...callerHeaders, ...credentialNames(credential, config), ...fixed]
  const secret = config.credential?.secret
  const former = config.previousSecrets.flatMap(one => {
    if (config.credential === undefined) return []
    const before = { ...config, credential: { ...config.credential, secret: one }, previousSecrets: [] }
    return [compileUpstream(name, before, { timeouts }, callerHeaders)]
  })
  const upstream: Upstream = {
    name,
    kind: config.kind,
    origin,
    off: config.off,
    headers: [...credential.headers, ...declared],
    shownHeaders: [...credential.shownHeaders, ...declared],
    secret,
    credential: secret && credentialReference(name, secret),
    former: former.map(one => one.upstream),
    passesUnknown: config.passesUnknown,
    forward: {
      request: requestFilter(config.forward, held),
      response: responseFilter(config.forward.response),
    },
    connect: mergeTimeouts(timeouts, config.timeouts).connect,
  }
  const supported = Object.entries(config.speaks)
  const endpoints = new Map(supported.map(([protocol, one]) => [protocol, compileEndpoint(one, prefix, credential)]))
  return { upstream, config, endpoints, former }
}

function compileEndpoint(config: EndpointConfig, prefix: string, credential: Placed): Endpoint {
  const call = new UpstreamCall(config.call, prefix, credential)
  const stream = config.stream === undefined ? call : new UpstreamCall(config.stream, prefix, credential)
  const { request, response, stateful, forms, task } = config
  return {
    call,
    stream,
    ...(stateful === undefined ? {} : { stateful }),
    request,
    response,
    ...(forms === undefined ? {} : { forms }),
    ...(task === undefined ? {} : { task }),
  }
}

/** `embedded:` addresses have no path. */
function locate(base: string): { readonly origin: string; readonly prefix: string } {
  const { origin, protocol, pathname } = new URL(base)
  if (protocol === 'embedded:') return { origin: base, prefix: '' }
  return { origin, prefix: pathname === '/' ? '' : pathname }
}

/** The credential replaces a declared header of the same name. */
function declaredHeaders(headers: Readonly<Record<string, string>>, { headers: [held] }: Placed): readonly string[] {
  return Object.entries(headers)
    .map(([name, value]) => [name.toLowerCase(), value])
    .filter(([name]) => name !== held)
    .flat()
}

/** Headers that carry the credential, or would carry it if the upstream had one. */
function credentialNames({ headers }: Placed, { credential }: UpstreamConfig): readonly string[] {
  return credential?.place.in === 'header'
    ? [...namesOf(headers), credential.place.name.toLowerCase()]
    : namesOf(headers)
}

/** The names in a flat list of name, value, name, value. */
function namesOf(headers: readonly string[]): readonly string[] {
  return headers.filter((_, index) => index % 2 === 0)
}
