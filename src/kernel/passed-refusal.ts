import type { GatewayError } from '../core/errors.js'
import type { Exchange } from '../core/plan.js'
import type { Call } from './call.js'
import type { UpstreamAnswer } from './failure.js'

/** Passes an upstream's refusal on, byte for byte. The call is accounted as that error. */
export function passAnswer(call: Call, answer: UpstreamAnswer, error: GatewayError): void {
  call.error = error
  call.begin(answer.status, [...answer.headers, 'content-length', String(answer.body.length)])
  call.end(answer.body)
}

/** Whether an upstream's refusal may be shown: it is JSON, and contains none of the gateway's credentials. */
export function presentable(body: Buffer, call: Call, exchange: Exchange): boolean {
  const text = body.toString('utf8')
  if (call.generation.reach(exchange.upstream).secrets.some(secret => text.includes(secret))) return false
  try {
    const parsed: unknown = JSON.parse(text)
    return typeof parsed === 'object' && parsed !== null
  } catch {
    return false
  }
}
