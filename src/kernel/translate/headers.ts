import type { Exchange } from '../../core/plan.js'
import type { UpstreamHeaders } from '../response-headers.js'
import { OF_BYTES, responseHeaders } from '../response-headers.js'
import { renamedLimits } from './rate-limits.js'

/** Headers of an upstream's answer that are also valid for its translation. Flat name, value list. */
export function translatedHeaders(headers: UpstreamHeaders, exchange: Exchange): string[] {
  const flat = responseHeaders(headers, exchange)
  const kept: string[] = []
  for (let i = 0; i + 1 < flat.length; i += 2) {
    const [name = '', value = ''] = [flat[i], flat[i + 1]]
    if (!OF_BYTES.has(name)) kept.push(name, value)
  }
  const limits = exchange.translation?.rateLimits
  return limits === undefined ? kept : renamedLimits(kept, limits)
}
