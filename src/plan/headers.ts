import type { UpstreamConfig } from '../core/config.js'
import { CONNECTION_HEADERS } from '../core/connection-headers.js'
import type { HeaderFilter } from '../core/plan.js'
import { NameSet } from './names.js'

/** Of one connection only (RFC 9110 §7.6.1), or about the framing of a body, which each side decides for itself. */
const CONNECTION = [
  ...CONNECTION_HEADERS,
  ...['proxy-authenticate', 'proxy-authorization', 'content-length', 'content-encoding'],
  // A WebSocket's handshake is made anew on each side; one of these may hold the caller's key.
  ...['sec-websocket-key', 'sec-websocket-version', 'sec-websocket-protocol', 'sec-websocket-extensions'],
  'sec-websocket-accept',
]

/** Never taken from a client: where the request goes, who sends it, and what the gateway says itself. */
const NOT_TO_UPSTREAM = [
  ...CONNECTION,
  'host',
  'expect',
  'cookie',
  'authorization',
  'x-request-id',
  'x-gateway-generation',
]

/** Never taken from an upstream: what speaks of that server, sets state in browsers, or is the gateway's to say. */
const NOT_TO_CLIENT = [
  ...CONNECTION,
  ...['set-cookie', 'set-cookie2', 'server', 'alt-svc', 'www-authenticate', 'x-request-id', 'x-gateway-error'],
]

/** The context of a trace (W3C Trace Context) and what goes with it (W3C Baggage). */
const TRACE_HEADERS: readonly string[] = ['traceparent', 'tracestate', 'baggage']

/**
 * Client headers that pass to an upstream beyond those that always do. `held` names further headers that never pass,
 * even if a glob matches: those with callers' keys, and those that the upstream's own declaration sets.
 */
export function requestFilter({ request, trace }: UpstreamConfig['forward'], held: Iterable<string>): HeaderFilter {
  return filter(trace ? [...TRACE_HEADERS, ...request] : request, [...NOT_TO_UPSTREAM, ...held])
}

/** Headers of an upstream's answer that pass to the client beyond those that always do. */
export function responseFilter(forward: readonly string[]): HeaderFilter {
  const pass = filter(forward, NOT_TO_CLIENT)
  // Which pages may read an answer is for `listen.cors` to say.
  return name => pass(name) && !name.startsWith('access-control-')
}

function filter(forward: readonly string[], held: Iterable<string>): HeaderFilter {
  if (forward.length === 0) return () => false
  const passed = new NameSet(forward)
  const never = new Set(held)
  return name => !never.has(name) && passed.has(name)
}
