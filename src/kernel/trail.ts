import { type Hides, isHidden, isSecretName, keyHeaders } from '../core/hidden-headers.js'
import type { Exchange } from '../core/plan.js'
import type { UpstreamRequest } from '../net/pools.js'
import type { Call } from './call.js'
import type { Failure } from './failure.js'
import { causeOf } from './outcome.js'

/**
 * Log lines of the levels `debug` (a request's steps) and `trace` (the headers of both sides). They contain
 * no body and no secret. Callers check `sink.debugs` first, so that other levels cost nothing.
 */

/** Maximum length of a logged path or header value. */
const MAX_VALUE_CHARS = 200
/** Maximum number of exchanges that a line names. */
const MAX_CANDIDATES = 10
const HIDDEN = '[hidden]'

export function logArrival(call: Call): void {
  const { request, route, client } = call
  const fields = { method: request.method, path: call.path.slice(0, MAX_VALUE_CHARS), route: route?.id, client }
  log(call, fields, 'request received')
  const names = keyHeaders(route?.caller ?? [])
  logHeaders(call, {}, 'request headers', () => shownHeaders(request.rawHeaders, { names, secrets: [] }))
}

/** `exchanges` are in the order in which they would be tried. */
export function logCandidates(call: Call, exchanges: readonly Exchange[]): void {
  const { caller, model, stream, tally } = call
  const ways = exchanges.slice(0, MAX_CANDIDATES).map(nameOf)
  const more = exchanges.length > MAX_CANDIDATES ? { more_ways: exchanges.length - MAX_CANDIDATES } : {}
  const named = model === '' ? {} : { model }
  log(call, { key: caller?.name, ...named, stream, bytes_in: tally.bytesIn, ways, ...more }, 'request admitted')
}

export function logSent(call: Call, exchange: Exchange, request: UpstreamRequest): void {
  const { translation } = exchange
  const { body } = request
  const chosen = call.stream ? exchange.streamCall : exchange.call
  const translated = translation && `${translation.server.protocol} to ${translation.client.protocol}`
  const { secrets } = call.generation.reach(exchange.upstream)
  const bytes = body instanceof Uint8Array ? body.length : undefined
  const side = sideOf(exchange)
  log(call, { ...side, call: chosen.text, translated, bytes }, 'calling an upstream')
  logHeaders(call, side, 'headers sent upstream', () => shownHeaders(request.headers, { names: [], secrets }))
}

export function logAnswered(
  call: Call,
  exchange: Exchange,
  status: number,
  answered: Readonly<Record<string, string | readonly string[] | undefined>>,
): void {
  const { secrets } = call.generation.reach(exchange.upstream)
  const side = sideOf(exchange)
  log(call, { ...side, status }, 'upstream answered')
  logHeaders(call, side, "headers of the upstream's answer", () => {
    const flat = Object.entries(answered).flatMap(([name, value]) => [name, String(value)])
    return shownHeaders(flat, { names: [], secrets })
  })
}

/** `next`: the exchange that is tried next. */
export function logFailed(call: Call, exchange: Exchange, { condition, error }: Failure, next?: Exchange): void {
  const fields = { ...sideOf(exchange), condition, error: error.code, cause: causeOf(error) }
  log(call, { ...fields, next: next && nameOf(next) }, 'attempt failed')
}

function log(call: Call, fields: object, message: string): void {
  call.kernel.sink.debug({ id: call.id, trace: call.trace.id, ...fields }, message)
}

function logHeaders(call: Call, fields: object, message: string, headers: () => object): void {
  const { sink } = call.kernel
  if (sink.traces) sink.trace({ id: call.id, trace: call.trace.id, ...fields, headers: headers() }, message)
}

function sideOf({ upstream, model }: Exchange): object {
  return { upstream: upstream.name, ...(model === '' ? {} : { target: model }) }
}

function nameOf({ upstream, model }: Exchange): string {
  return model === '' ? upstream.name : `${upstream.name}/${model}`
}

/** By lower-case name. `flat` is a name, value list. */
function shownHeaders(flat: readonly string[], hides: Hides): object {
  const headers: Record<string, string> = Object.create(null)
  for (let index = 0; index + 1 < flat.length; index += 2) {
    const name = (flat[index] ?? '').toLowerCase()
    const value = flat[index + 1] ?? ''
    const isSecret = isSecretName(name) || isHidden(name, value, hides)
    const shown = isSecret ? HIDDEN : value.slice(0, MAX_VALUE_CHARS)
    headers[name] = name in headers ? `${headers[name]}, ${shown}` : shown
  }
  return headers
}
