import type { IncomingHttpHeaders } from 'node:http'
import { GatewayError } from '../core/errors.js'
import type { Exchange, Pointer, Call as UpstreamCall } from '../core/plan.js'
import type { UpstreamRequest } from '../net/pools.js'
import { findValue, splice } from '../wire/json-edit.js'
import { type Held, mergeQuery } from '../wire/query.js'
import { type Body, type HeldBody, standsInBody } from './admit.js'
import type { Call } from './call.js'
import { sentForm } from './form.js'
import type { Reach } from './generation.js'
import { renameAgain } from './model-again.js'
import { declaredLength } from './read-body.js'
import { Upload } from './upload.js'

/** Client headers that pass to every upstream; an upstream's `forward` adds to them. Nothing else does. */
const PASSED = new Set(['content-type', 'accept', 'idempotency-key'])

/** The request as this exchange sends it: declared headers, placed credential, the client's bytes with declared edits. */
export function buildRequest(call: Call, exchange: Exchange, body: Body): UpstreamRequest {
  const chosen = call.stream ? exchange.streamCall : exchange.call
  const headers = headersFor(call, exchange, body)
  return {
    method: chosen.method,
    path: targetOf(call, exchange, chosen),
    headers,
    body: bodyFor(call, exchange, body, headers),
  }
}

function targetOf(call: Call, exchange: Exchange, chosen: UpstreamCall): string {
  const target = chosen.target({ ...call.params, model: exchange.model })
  return chosen.whole === true ? target : mergeQuery(target, call.query, isHeld(call))
}

/** What asks for a part of something that an upstream keeps (RFC 9110 §14.2). */
const OF_PARTS = new Set(['range', 'if-range'])

function headersFor(call: Call, exchange: Exchange, body: Body): string[] {
  const fixed = call.generation.reach(exchange.upstream)
  const given = call.request.headers
  const headers = fixed.yielding.size === 0 ? [...fixed.headers] : standing(fixed, given)
  const forward = exchange.upstream.forward.request
  const inParts = call.route?.holding?.verb === 'uses'
  for (const name in given) {
    const passes = PASSED.has(name) || forward(name) || (inParts && OF_PARTS.has(name))
    if (!passes || (fixed.names.has(name) && !fixed.yielding.has(name))) continue
    const value = given[name]
    if (typeof value === 'string') headers.push(name, value)
  }
  headers.push('x-request-id', call.id)
  const length = body.type === 'stream' ? declaredLength(call.request) : undefined
  if (length !== undefined) headers.push('content-length', String(length))
  return headers
}

/** The upstream's own headers, but for those that the client sets itself and may. */
function standing({ headers, yielding }: Reach, given: IncomingHttpHeaders): string[] {
  return headers.filter((_, index) => {
    const name = headers[index - (index % 2)] ?? ''
    return !yielding.has(name) || given[name] === undefined
  })
}

/** Query parameters that stay here: callers' keys, wherever they stand, and the model, which the exchange renames. */
function isHeld(call: Call): Held {
  const { route, generation } = call
  return (name, value) =>
    (route?.model?.from === 'query' && route.model.name === name) ||
    route?.framing.parameter === name ||
    route?.holder.some(hint => hint.from === 'query' && hint.name === name) === true ||
    route?.caller.some(placement => placement.in === 'query' && placement.name === name) === true ||
    !('refused' in generation.plan.keys.find(value, Date.now()))
}

/** `headers` get what the body's framing needs. */
function bodyFor(call: Call, exchange: Exchange, body: Body, headers: string[]): UpstreamRequest['body'] {
  switch (body.type) {
    case 'none':
      return null
    case 'stream':
      call.upload = new Upload(call.request, call.route?.limits.body ?? 0)
      return call.upload
    case 'form': {
      const form = sentForm(body, call, exchange)
      headers.push('content-length', String(form.length))
      return form.bytes
    }
    case 'bytes': {
      const pointer = call.route?.model
      const own = named(body, pointer, call.model, exchange.model)
      const bytes = call.turn?.relayed(own) ?? own
      return exchange.request === undefined ? bytes : transformed(exchange.request, bytes)
    }
  }
}

/** The body with the name by which the upstream knows the model that was `asked` for. */
function named(body: HeldBody, pointer: Pointer | undefined, asked: string, name: string): Uint8Array {
  if (pointer?.from === 'path') return renameAgain(body.bytes, asked, name)
  return standsInBody(pointer) && name !== asked ? rename(body, pointer.name, name) : body.bytes
}

/** Only the model's name is replaced; every other byte goes out as it came. */
function rename({ bytes, model }: HeldBody, member: string, name: string): Uint8Array {
  const span = model ?? findValue(bytes, [member])
  if (span === undefined) throw new Error('the model has been read, so it stands in the body')
  return splice(bytes, span.start, span.end, Buffer.from(JSON.stringify(name)))
}

function transformed(transform: NonNullable<Exchange['request']>, bytes: Uint8Array): Uint8Array {
  try {
    return transform(bytes)
  } catch (cause) {
    throw new GatewayError('bad_request', 'The body does not have the form that this model needs.', { cause })
  }
}
