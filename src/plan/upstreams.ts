import type { Config, EndpointConfig, UpstreamConfig, VerbConfig } from '../core/config.js'
import type { Upstream } from '../core/plan.js'
import type { Steps } from '../core/steps.js'
import type { TaskShapeConfig } from '../core/task.js'
import { UpstreamCall } from './calls.js'
import { credentialReference, type Placed, placeCredential } from './credential.js'
import { requestFilter, responseFilter } from './headers.js'
import { mergeTimeouts } from './settings.js'

/** An upstream with the protocols that it speaks. */
export interface Speaker {
  readonly upstream: Upstream
  readonly config: UpstreamConfig
  readonly endpoints: ReadonlyMap<string, Endpoint>
  /** With the credentials that it had before. */
  readonly former: readonly Speaker[]
}

/** How an upstream serves a protocol. */
export interface Endpoint {
  readonly call: UpstreamCall
  /** The same as `call` where streams have no call of their own. */
  readonly stream: UpstreamCall
  /** False where the upstream does not keep what its protocol lets later requests refer to. */
  readonly keeps?: false
  readonly request: readonly VerbConfig[]
  readonly response: readonly VerbConfig[]
  /** Forms are sent as JSON objects. */
  readonly forms?: 'json'
  readonly task?: TaskShapeConfig
}

/** `callerHeaders` are those in which callers' keys stand: they go to no upstream. */
export function* compileUpstreams(
  config: Config,
  callerHeaders: ReadonlySet<string>,
): Steps<ReadonlyMap<string, Speaker>> {
  const speakers = new Map<string, Speaker>()
  for (const [name, upstream] of Object.entries(config.upstreams)) {
    speakers.set(name, compileUpstream(name, upstream, config, callerHeaders))
    yield
  }
  return speakers
}

function compileUpstream(
  name: string,
  config: UpstreamConfig,
  { timeouts }: Pick<Config, 'timeouts'>,
  callerHeaders: ReadonlySet<string>,
): Speaker {
  const { origin, prefix } = locate(config.base)
  const credential = placeCredential(config.credential)
  const declared = declaredHeaders(config.headers, credential)
  // A declared header that `forward` names in full is what is sent where the client sends none.
  const fixed = namesOf(declared).filter(header => !config.forward.request.includes(header))
  const held = [...callerHeaders, ...credentialNames(credential, config), ...fixed]
  const secret = config.credential?.secret
  const former = config.former.flatMap(one => {
    if (config.credential === undefined) return []
    const before = { ...config, credential: { ...config.credential, secret: one }, former: [] }
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
  const spoken = Object.entries(config.speaks)
  const endpoints = new Map(spoken.map(([protocol, one]) => [protocol, compileEndpoint(one, prefix, credential)]))
  return { upstream, config, endpoints, former }
}

function compileEndpoint(config: EndpointConfig, prefix: string, credential: Placed): Endpoint {
  const call = new UpstreamCall(config.call, prefix, credential)
  const stream = config.stream === undefined ? call : new UpstreamCall(config.stream, prefix, credential)
  const { request, response, keeps, forms, task } = config
  return {
    call,
    stream,
    ...(keeps === undefined ? {} : { keeps }),
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

/** The credential wins over a declared header of its name. */
function declaredHeaders(headers: Readonly<Record<string, string>>, { headers: [held] }: Placed): readonly string[] {
  return Object.entries(headers)
    .map(([name, value]) => [name.toLowerCase(), value])
    .filter(([name]) => name !== held)
    .flat()
}

/** Where the credential stands, and where it would stand if the upstream had one. */
function credentialNames({ headers }: Placed, { credential }: UpstreamConfig): readonly string[] {
  return credential?.place.in === 'header'
    ? [...namesOf(headers), credential.place.name.toLowerCase()]
    : namesOf(headers)
}

/** Names of a flat name, value list. */
function namesOf(headers: readonly string[]): readonly string[] {
  return headers.filter((_, index) => index % 2 === 0)
}
