import type { Exchange } from '../core/plan.js'
import type { UpstreamRequest } from '../net/pools.js'
import { asBuffer } from '../wire/bytes.js'
import { type Values, valuesOfBytes } from '../wire/demand-values.js'
import type { Body } from './body.js'
import type { Call } from './call.js'
import { formFor } from './form.js'

/** What is sent of the amounts that a request asks for, where verbs of the target name them. `sent`: the body as it is sent. */
export function sentAmounts(
  call: Call,
  exchange: Exchange,
  body: Body | undefined,
  sent: UpstreamRequest['body'],
): Values | undefined {
  const paths = exchange.adds?.paths
  if (paths === undefined) return undefined
  if (sent instanceof Uint8Array) return valuesOfBytes(asBuffer(sent), paths)
  if (body?.type !== 'form') return undefined
  const changes = formFor(body, call, exchange)
  return path => changes.value(path.join('.'))
}
