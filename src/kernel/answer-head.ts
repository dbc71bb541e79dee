import type { ERROR_CODES, GatewayError } from '../core/errors.js'
import type { HttpRequest } from '../transport/exchange.js'

/** Adds to the names that translation left out, in a flat name, value list. */
export function addDroppedHeader(headers: string[], names: readonly string[]): void {
  const at = headers.indexOf('x-gateway-dropped')
  if (at < 0) headers.push('x-gateway-dropped', names.join(', '))
  else headers[at + 1] = `${names.join(', ')}, ${headers[at + 1]}`
}

/** Headers of the answer to a request that is refused with an error: a flat name, value list. */
export function errorHeaders(error: GatewayError, request: HttpRequest): string[] {
  const headers = ['x-gateway-error', error.code, ...(error.details.headers ?? [])]
  const wait = error.details.retryAfter
  if (wait !== undefined) {
    headers.push('retry-after', String(Math.ceil(wait / 1000)))
    if (wait % 1000 !== 0) headers.push('retry-after-ms', String(Math.ceil(wait)))
  }
  if (error.details.allow !== undefined) headers.push('allow', error.details.allow.join(', '))
  if (error.status === 401) headers.push('www-authenticate', 'Bearer')
  const isOver = error.code in AMBIGUOUS || request.headers.expect !== undefined
  // A connection that is closed releases its descriptor.
  if (isOver || error.details.limit === 'descriptors') headers.push('connection', 'close')
  return headers
}

/** After these the two sides may disagree about where the next request begins. */
const AMBIGUOUS: Partial<Record<keyof typeof ERROR_CODES, true>> = {
  bad_request: true,
  headers_too_large: true,
  url_too_long: true,
  request_timeout: true,
}
