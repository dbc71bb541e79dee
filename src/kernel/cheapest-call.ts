import type { Upstream } from '../core/plan.js'
import type { CheapestCall } from '../core/upstream-call.js'
import type { Generation } from './generation.js'
import { send, type UpstreamResponse } from './http-call.js'

interface AskOptions {
  /** The name that the request goes under; no key of a caller has it. */
  readonly key: string
  /** For a connection, and again for the answer, milliseconds. */
  readonly timeoutMs: number
  /** Largest body, bytes. Absent: the head is enough. */
  readonly maxBytes?: number
}

/** Makes an upstream's cheapest request, with the credential and by the way of all others. Rejects with `NoResponseError`. */
export function askCheapest(
  generation: Generation,
  upstream: Upstream,
  { call, body }: CheapestCall,
  { key, timeoutMs, maxBytes }: AskOptions,
): Promise<UpstreamResponse> {
  const { pool, headers } = generation.reach(upstream)
  const type = body === null ? [] : ['content-type', 'application/json']
  const request = { method: call.method, path: call.target({}), body, headers: [...headers, 'accept', '*/*', ...type] }
  const times = { queue: timeoutMs, connect: Math.min(upstream.connect, timeoutMs), answer: timeoutMs }
  return send(pool, request, { key, ...times, maxBytes: maxBytes ?? 'head' })
}
