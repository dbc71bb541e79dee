import { estimateTokens } from '../../codecs/index.js'
import type { Codec } from '../../core/codec.js'
import { headersWithout } from '../../core/header-list.js'
import type { TextRequest } from '../../core/text.js'
import { rewritten } from '../../core/transform.js'
import type { UpstreamRequest } from '../../net/pools.js'
import type { DecodedRequest } from '../../translate/decode.js'
import type { Translator } from '../../translate/translator.js'
import { mergeQuery } from '../../wire/query.js'
import type { Call } from '../call.js'
import { chainOf } from '../chain.js'
import { shapedJson, withTaken } from '../shaped-request.js'
import type { AttemptView } from '../stages.js'
import { claimsKey, IDEMPOTENCY_KEY } from '../upstream-request.js'
import { OtherCalls } from './other-calls.js'
import { jsonBytes, yieldToEventLoop } from './steps.js'

/**
 * The request in the upstream's protocol, or the call with this number if one request needs several. Of the client's
 * headers only those in `forward`, and `PASSED`, are sent.
 */
export async function translatedRequest(
  attempt: AttemptView,
  translator: Translator,
  { size }: Pick<DecodedRequest, 'size'>,
  nth = 0,
): Promise<UpstreamRequest> {
  const { call, exchange } = attempt
  await yieldToEventLoop(size)
  const document = translator.encode(nth)
  await yieldToEventLoop(size)
  const bytes = await jsonBytes(document, size)
  const chosen = call.stream ? exchange.streamCall : exchange.call
  const request = {
    method: chosen.method,
    path: '',
    // Each further call is an attempt of its own, which is not known yet.
    headers: headersFor(attempt, nth === 0),
    body: rewritten(
      exchange.request,
      exchange.shape === undefined ? bytes : withTaken(exchange.shape, call, exchange, bytes),
    ),
  }
  const params = { ...call.params, model: exchange.model }
  if (exchange.shape === undefined) return { ...request, path: chosen.target(params) }
  const { placed, ...shaped } = shapedJson(exchange.shape, request)
  return { ...shaped, path: mergeQuery(chosen.target({ ...params, ...placed.params }), placed.query, () => false) }
}

/** Headers that clients of any protocol may send to upstreams. */
const PASSED = new Set([IDEMPOTENCY_KEY])

function headersFor(attempt: AttemptView, isFirst: boolean): string[] {
  const { call, exchange } = attempt
  const fixed = call.generation.reach(exchange.upstream)
  const headers = [...fixed.headers]
  if (!fixed.names.has('content-type')) headers.push('content-type', 'application/json')
  const forward = exchange.upstream.forward.request
  for (const [name, value] of Object.entries(call.request.headers)) {
    if ((!PASSED.has(name) && !forward(name)) || fixed.names.has(name) || typeof value !== 'string') continue
    if (name === IDEMPOTENCY_KEY && !claimsKey(attempt)) continue
    if (name !== 'content-type') headers.push(name, value)
  }
  headers.push('x-request-id', call.id)
  if (isFirst) for (const onUpstreamRequest of chainOf(call).onUpstreamRequest) onUpstreamRequest(attempt, headers)
  return headers
}

/** The calls after the first one of a request that needs several; each is distinct for upstreams that detect repeated requests. */
export async function othersOf(
  attempt: AttemptView,
  translator: Translator,
  decoded: Pick<DecodedRequest, 'size'>,
): Promise<OtherCalls | undefined> {
  const { call, exchange } = attempt
  const requests: UpstreamRequest[] = []
  for (let nth = 1; nth < (translator.calls ?? 1); nth++) {
    const { headers, ...request } = await translatedRequest(attempt, translator, decoded, nth)
    requests.push({ ...request, headers: headersWithout(headers, name => name === IDEMPOTENCY_KEY) })
  }
  return requests.length === 0 ? undefined : new OtherCalls(call, exchange, requests)
}

/** Answers a count of tokens by an estimate, and says so, if no upstream counts. */
export function answerEstimate(call: Call, server: Codec, { request }: DecodedRequest): void {
  if (server.operation !== 'count') throw new Error('only counts are estimated')
  const tokens = estimateTokens(request as TextRequest)
  call.answer(200, server.server.encodeResult(tokens), ['x-gateway-estimated', 'input_tokens'])
}
