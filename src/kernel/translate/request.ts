import type { Exchange } from '../../core/plan.js'
import type { UpstreamRequest } from '../../net/pools.js'
import type { Call } from '../call.js'
import type { Asked } from './asked.js'
import { breathe, jsonBytes } from './steps.js'
import type { Translator } from './translator.js'

/** The request in the upstream's protocol. Nothing of the client's head goes with it but what `forward` names. */
export async function translatedRequest(
  call: Call,
  exchange: Exchange,
  translator: Translator,
  { size }: Asked,
): Promise<UpstreamRequest> {
  await breathe(size)
  const document = translator.encode()
  await breathe(size)
  const bytes = await jsonBytes(document, size)
  const chosen = call.stream ? exchange.streamCall : exchange.call
  return {
    method: chosen.method,
    path: chosen.target({ ...call.params, model: exchange.model }),
    headers: headersFor(call, exchange, translator),
    body: exchange.request === undefined ? bytes : exchange.request(bytes),
  }
}

/** Headers that clients of any protocol may send through. */
const PASSED = new Set(['idempotency-key'])

function headersFor(call: Call, exchange: Exchange, translator: Translator): string[] {
  const fixed = call.generation.reach(exchange.upstream)
  const headers = [...fixed.headers, 'content-type', 'application/json']
  const own = translator.headers()
  const taken = new Set([...fixed.names, ...own.filter((_, index) => index % 2 === 0)])
  const forward = exchange.upstream.forward.request
  for (const [name, value] of Object.entries(call.request.headers)) {
    if ((!PASSED.has(name) && !forward(name)) || taken.has(name) || typeof value !== 'string') continue
    if (name !== 'content-type') headers.push(name, value)
  }
  headers.push(...own, 'x-request-id', call.id)
  return headers
}
