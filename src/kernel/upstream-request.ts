import type { IncomingHttpHeaders } from 'node:http'
import { headersWithout } from '../core/header-list.js'
import { plannedOf } from '../core/keeper.js'
import type { Exchange } from '../core/plan.js'
import { rewritten } from '../core/transform.js'
import type { Call as UpstreamCall } from '../core/upstream-call.js'
import type { UpstreamRequest } from '../net/pools.js'
import { apply, type Edit, edited, findValue, firstMember } from '../wire/json-edit.js'
import { type IsReserved, mergeQuery } from '../wire/query.js'
import { isInBody } from '../wire/scanned-body.js'
import type { Body, HeldBody } from './body.js'
import type { Call } from './call.js'
import { chainOf } from './chain.js'
import { changesOf, isOwnQuery } from './changes.js'
import { sentForm } from './form.js'
import type { Reach } from './generation.js'
import { declaredLength } from './read-body.js'
import { isTaken, shapedForm, shapedJson, withTaken } from './shaped-request.js'
import { slot } from './slot.js'
import type { AttemptView } from './stages.js'
import { joined, yieldToEventLoop } from './translate/steps.js'
import { UPLOAD_OBSERVER, Upload } from './upload.js'

export const IDEMPOTENCY_KEY = 'idempotency-key'

/** Client headers that pass to every upstream; an upstream's `forward` adds to them. */
const PASSED = new Set(['content-type', 'accept', IDEMPOTENCY_KEY])

/** The request as this exchange sends it: declared headers, placed credential, the client's bytes with declared edits. */
export function buildRequest(attempt: AttemptView, body: Body): UpstreamRequest {
  const { call, exchange } = attempt
  const headers = headersFor(attempt, body)
  return whole(attempt, headers, body, bodyFor(call, exchange, body, headers))
}

/** The same for a large body; its edits take several turns of the event loop. */
export async function buildLargeRequest(attempt: AttemptView, body: HeldBody): Promise<UpstreamRequest> {
  const { call, exchange } = attempt
  const headers = headersFor(attempt, body)
  return whole(attempt, headers, body, await largeBody(call, exchange, body))
}

/** The request with this body, of which declared values may go to its other places. */
function whole(attempt: AttemptView, headers: string[], own: Body, body: UpstreamRequest['body']): UpstreamRequest {
  const { call, exchange } = attempt
  const { shape } = exchange
  const chosen = call.stream ? exchange.streamCall : exchange.call
  const request = { method: chosen.method, path: '', headers, body }
  if (shape === undefined) return { ...request, path: targetOf(call, exchange, chosen) }
  const { placed, ...shaped } =
    own.type === 'form' ? shapedForm(shape, own, call, exchange, request) : shapedJson(shape, request)
  const held = isHeld(call, exchange)
  const isReserved: IsReserved = (name, value) => isTaken(shape, name) || held(name, value)
  const target = chosen.target({ ...call.params, ...placed.params, model: exchange.model })
  return {
    ...shaped,
    path: mergeQuery(
      mergeQuery(target, placed.query, () => false),
      call.query,
      isReserved,
    ),
  }
}

function targetOf(call: Call, exchange: Exchange, chosen: UpstreamCall): string {
  const target = chosen.target({ ...call.params, model: exchange.model })
  return chosen.whole === true ? target : mergeQuery(target, call.query, isHeld(call, exchange))
}

/** Headers of range requests (RFC 9110 §14.2). */
const OF_PARTS = new Set(['range', 'if-range'])

function headersFor(attempt: AttemptView, body: Body): string[] {
  const { call, exchange } = attempt
  const fixed = call.generation.reach(exchange.upstream)
  const given = call.request.headers
  const headers = fixed.yielding.size === 0 ? [...fixed.headers] : ownHeaders(fixed, given)
  const forward = exchange.upstream.forward.request
  // Ranges of content that is rewritten could begin and end anywhere.
  const inParts = call.route?.resource?.action === 'use' && !chainOf(call).reads.some(reads => reads(call))
  const isMade = body.type === 'bytes' && body.made === true
  for (const name in given) {
    if (name === 'content-type' && isMade) continue
    const passes = PASSED.has(name) || forward(name) || (inParts && OF_PARTS.has(name))
    if (!passes || (fixed.names.has(name) && !fixed.yielding.has(name))) continue
    if (name === IDEMPOTENCY_KEY && !claimsKey(attempt)) continue
    const value = given[name]
    if (typeof value === 'string') headers.push(name, value)
  }
  // A body without a content type was read as JSON.
  const isUntyped = body.type === 'bytes' && (isMade || given['content-type'] === undefined)
  if (isUntyped && !fixed.names.has('content-type')) headers.push('content-type', 'application/json')
  headers.push('x-request-id', call.id)
  for (const onUpstreamRequest of chainOf(call).onUpstreamRequest) onUpstreamRequest(attempt, headers)
  const length = body.type === 'stream' ? declaredLength(call.request) : undefined
  if (length !== undefined) headers.push('content-length', String(length))
  return headers
}

/** By upstream, the target that got the client's key there. */
const KEYED = slot<Map<string, Exchange>>('idempotency key')

/** Whether the client's key goes with the attempt: to the first target of each upstream, since the body of others is not the key's. */
export function claimsKey({ call, exchange }: AttemptView): boolean {
  const targets = call.get(KEYED) ?? new Map<string, Exchange>()
  const target = plannedOf(exchange)
  const first = targets.get(exchange.upstream.name) ?? target
  call.set(KEYED, targets.set(exchange.upstream.name, first))
  return first === target
}

/** The upstream's declared headers, except those that the client may set and did. */
function ownHeaders({ headers, yielding }: Reach, given: IncomingHttpHeaders): string[] {
  return headersWithout(headers, name => yielding.has(name) && given[name] !== undefined)
}

/** Query parameters that are not sent upstream. */
function isHeld(call: Call, exchange: Exchange): IsReserved {
  const held = changesOf(call, exchange)?.query
  const { openQuery = true, of } = call.route?.members ?? {}
  const query = openQuery ? undefined : of?.(exchange.upstream.name).query
  return (name, value) =>
    held?.has(name) === true ||
    (held === undefined && query !== undefined && query.get(name) !== 'pass') ||
    isOwnQuery(call, name, value)
}

/** Adds to `headers` what the body's framing needs. */
function bodyFor(call: Call, exchange: Exchange, body: Body, headers: string[]): UpstreamRequest['body'] {
  switch (body.type) {
    case 'none':
      return null
    case 'stream':
      call.upload = new Upload(call.request, call.maxBody, call.get(UPLOAD_OBSERVER))
      return call.upload
    case 'form': {
      const form = sentForm(body, call, exchange)
      headers.push('content-length', String(form.length))
      return form.bytes
    }
    case 'bytes': {
      const edits = naming(call, exchange, body)
      const own = edits.length === 0 ? body.bytes : apply(body.bytes, edits)
      const bytes = bodyOfStages(call, own)
      return rewritten(
        exchange.request,
        exchange.shape === undefined ? bytes : withTaken(exchange.shape, call, exchange, bytes),
      )
    }
  }
}

function bodyOfStages(call: Call, body: Uint8Array): Uint8Array {
  return chainOf(call).onUpstreamBody.reduce((bytes, change) => change(call, bytes), body)
}

/** Each pass over a large body, and each copy of it, runs in its own turn of the event loop. */
async function largeBody(call: Call, exchange: Exchange, body: HeldBody): Promise<Uint8Array> {
  const { length } = body.bytes
  const edits = naming(call, exchange, body)
  await yieldToEventLoop(length)
  const pieces = edits.length === 0 ? [] : edited(body.bytes, edits)
  const size = pieces.reduce((sum, piece) => sum + piece.length, 0)
  const own = pieces.length === 0 ? body.bytes : await joined(pieces, size)
  await yieldToEventLoop(length)
  const staged = bodyOfStages(call, own)
  let bytes = exchange.shape === undefined ? staged : withTaken(exchange.shape, call, exchange, staged)
  for (const step of exchange.request === undefined ? [] : (exchange.request.steps ?? [exchange.request])) {
    await yieldToEventLoop(length)
    bytes = rewritten(step, bytes)
  }
  await yieldToEventLoop(length)
  return bytes
}

/** Edits that set the upstream's name of the model, if the body names it or leaves it out. */
function naming(call: Call, exchange: Exchange, body: HeldBody): readonly Edit[] {
  const { named, model, route } = call
  const pointer = route?.model
  if (!isInBody(pointer) || !call.namesModel || (named && exchange.model === model)) return UNCHANGED
  return [rename(body, pointer.name, exchange.model)]
}

const UNCHANGED: readonly Edit[] = []

/** Replaces only the model's name, or inserts it first if there is none; all other bytes are sent unchanged. */
function rename({ bytes, model }: HeldBody, member: string, name: string): Edit {
  const span = model ?? findValue(bytes, [member])
  const json = JSON.stringify(name)
  return span === undefined
    ? firstMember(bytes, member, json)
    : { start: span.start, end: span.end, bytes: Buffer.from(json) }
}
