import type { Outcome } from '../core/entry.js'
import type { ErrorCode, GatewayError } from '../core/errors.js'
import type { Call } from './call.js'
import type { Failure } from './failure.js'
import { shortened } from './upstream-words.js'

/** How a request ended, by its error and its status. */
export function outcomeOf(error: GatewayError | undefined, status: number): Outcome {
  if (error === undefined) return status < 400 ? 'ok' : status < 500 ? 'client_error' : 'upstream_error'
  if (error.code === 'client_gone') return 'client_abort'
  if (error.code === 'internal' || error.code === 'unavailable') return 'gateway_error'
  return error.status < 500 ? 'client_error' : 'upstream_error'
}

/** Errors whose message, if they have no cause, is the upstream's. It has been cleaned for the client. */
const BY_UPSTREAM: Partial<Record<ErrorCode, true>> = {
  upstream_rejected: true,
  upstream_failed: true,
  rate_limited: true,
  bad_upstream_response: true,
}

/** A stack for internal errors only; else one line. */
export function causeOf(error: GatewayError | undefined): string | undefined {
  const cause = error?.details.cause
  if (cause === undefined) return error !== undefined && BY_UPSTREAM[error.code] ? shortened(error.message) : undefined
  if (!(cause instanceof Error)) return String(cause)
  if (error?.code === 'internal') return cause.stack
  return 'code' in cause ? `${String(cause.code)}: ${cause.message}` : cause.message
}

/** Records why an attempt failed, before the next one. */
export function noteCause({ attempts }: Call, { error }: Failure): void {
  const last = attempts.pop()
  const cause = causeOf(error)
  if (last !== undefined) attempts.push(cause === undefined ? last : { ...last, cause })
}
