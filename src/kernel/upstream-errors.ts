import { isOutOfDescriptors, outOfDescriptors } from '../core/descriptors.js'
import { GatewayError } from '../core/errors.js'
import type { RetryCondition } from '../core/limits.js'
import type { RateLimitReset } from '../core/rate-limits.js'
import { MAX_WAIT_MS, retryAfter } from '../core/retry-after.js'
import { ProxyFault } from '../net/proxy.js'
import { CredentialFault } from '../net/signer.js'
import { untilReset } from './translate/rate-limits.js'

/** No connection of the upstream's pool became free in time (`connections`), or too many requests wait (`queue`). */
export function noConnection(limit: 'connections' | 'queue'): GatewayError {
  const message =
    limit === 'queue'
      ? 'Too many requests are waiting for this upstream. Try again soon.'
      : 'All connections of the gateway to this upstream are in use. Try again soon.'
  return new GatewayError('unavailable', message, { retryAfter: 1000, limit, phase: 'queue' })
}

/** Classifies a connection failure. `connecting`: the request had not been sent. */
export function classify(cause: Error, connecting: boolean): { condition: RetryCondition; error: GatewayError } {
  if (cause instanceof GatewayError) return { condition: 'reset', error: cause }
  if (isOutOfDescriptors(cause)) return { condition: 'descriptors', error: outOfDescriptors(cause) }
  if (cause instanceof ProxyFault) return { condition: 'connect', error: proxyFailed(cause) }
  if (cause instanceof CredentialFault) return { condition: 'connect', error: noCredential(cause) }
  const code = 'code' in cause ? String(cause.code) : ''
  if (code === 'CONNECT_TIMEOUT' || code === 'UND_ERR_CONNECT_TIMEOUT') {
    return { condition: 'connect', error: timeout('connect', cause) }
  }
  if (connecting) {
    const error = new GatewayError('upstream_unavailable', 'The upstream cannot be reached.', {
      cause,
      phase: 'connect',
    })
    return { condition: 'connect', error }
  }
  if (code.startsWith('HPE_') || MALFORMED.has(code)) {
    const error = new GatewayError('bad_upstream_response', 'The upstream sent a malformed answer.', {
      cause,
      phase: 'head',
    })
    return { condition: 'bad_response', error }
  }
  const error = new GatewayError('upstream_unavailable', 'The upstream closed the connection before it answered.', {
    cause,
    phase: 'reset',
  })
  return { condition: 'reset', error }
}

/** The upstream was not reached. The proxy's message is logged only. */
function proxyFailed(cause: ProxyFault): GatewayError {
  const code = cause.isTimeout ? 'upstream_timeout' : 'upstream_unavailable'
  const message = 'The upstream cannot be reached: the proxy on the way to it failed.'
  return new GatewayError(code, message, { cause, phase: 'proxy' })
}

/** The upstream was not asked. Why there is no credential is logged only. */
function noCredential(cause: CredentialFault): GatewayError {
  const message = 'The gateway has no valid credential for the upstream at the moment.'
  return new GatewayError('upstream_auth', message, { cause, phase: 'credential' })
}

/** The phase of an attempt that failed, for the log. */
export function phaseOf(condition: RetryCondition, error: GatewayError): string {
  if (error.details.phase === 'proxy' || error.details.phase === 'credential') return error.details.phase
  if (condition === 'silent_stream') return error.details.phase ?? 'first_byte'
  return typeof condition === 'number' ? 'status' : condition
}

/** Codes of both HTTP clients for answers that violate HTTP; those of the parser are `HPE_…`. */
const MALFORMED = new Set([
  'ANSWER_INVALID',
  'UND_ERR_HEADERS_OVERFLOW',
  'UND_ERR_RES_CONTENT_LENGTH_MISMATCH',
  'UND_ERR_RES_EXCEEDED_MAX_SIZE',
  'UND_ERR_INVALID_ARG',
  'UND_ERR_NOT_SUPPORTED',
])

function timeout(phase: string, cause: unknown): GatewayError {
  return new GatewayError('upstream_timeout', 'The upstream did not answer in time.', { phase, cause })
}

/**
 * Maps an upstream's status to an error. Clients never learn about the gateway's own credential. `said`: the
 * upstream's message, for the log. `resets`: its rate limit headers, beside `retry-after`.
 */
export function errorOfStatus(
  status: number,
  headers: Readonly<Record<string, unknown>>,
  said?: string | undefined,
  resets: readonly RateLimitReset[] = [],
): GatewayError {
  const cause = `upstream status ${status}${said === undefined ? '' : `: ${said}`}`
  const phase = 'status'
  if (status < 300 || status === 304) {
    return new GatewayError('bad_upstream_response', 'The upstream sent a malformed answer.', { cause, phase })
  }
  if (status < 400) {
    return new GatewayError(
      'bad_upstream_response',
      'The upstream redirected the request; redirects are not followed.',
      {
        cause: `upstream status ${status} to ${hostOf(headers.location)}`,
        phase,
      },
    )
  }
  if (status === 401 || status === 403 || status === 407) {
    return new GatewayError('upstream_auth', "The upstream refused the gateway's credential.", { cause, phase })
  }
  if (status === 429) {
    return new GatewayError('rate_limited', 'The upstream limits the rate. Try again later.', {
      cause,
      phase,
      retryAfter: retryAfter(headers) ?? resetWait(headers, resets),
    })
  }
  if (status < 500) {
    return new GatewayError('upstream_rejected', 'The upstream refused the request.', { cause, phase, status })
  }
  return new GatewayError('upstream_failed', 'The upstream failed to answer.', {
    cause,
    phase,
    retryAfter: retryAfter(headers),
  })
}

function hostOf(location: unknown): string {
  return typeof location === 'string' && URL.canParse(location) ? new URL(location).host : 'a path'
}

function resetWait(headers: Readonly<Record<string, unknown>>, resets: readonly RateLimitReset[]): number | undefined {
  const left = untilReset(headers, resets)
  return left === undefined ? undefined : Math.min(Math.ceil(left), MAX_WAIT_MS)
}
