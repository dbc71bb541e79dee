import { headersWithout } from '../../core/header-list.js'
import type { Exchange } from '../../core/plan.js'
import type { UpstreamHeaders } from '../response-headers.js'
import { OF_BYTES, responseHeaders } from '../response-headers.js'
import { renamedLimits } from './rate-limits.js'

/** Headers of an upstream's answer that are also valid for its translation. Flat name, value list. */
export function translatedHeaders(headers: UpstreamHeaders, exchange: Exchange): string[] {
  const kept = headersWithout(responseHeaders(headers, exchange), name => OF_BYTES.has(name))
  const limits = exchange.translation?.rateLimits
  return limits === undefined ? kept : renamedLimits(kept, limits)
}
