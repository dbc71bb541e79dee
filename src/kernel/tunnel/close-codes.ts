import { GatewayError } from '../../core/errors.js'

/** Close codes of RFC 6455 §7.4.1. */
const NORMAL = 1000
export const GOING_AWAY = 1001
/** Never sent: a close frame without a code. */
const NO_CODE = 1005
/** Never sent: a connection that ended without a close frame. */
export const ABNORMAL = 1006
export const POLICY = 1008
const TOO_LARGE = 1009
export const UPSTREAM_FAILED = 1011

/**
 * How long the other side may go on once one has broken the protocol or closed, milliseconds: what it still says to what it
 * was told before gets there, and its own close frame ends that time.
 */
export const PARTING_TIMEOUT_MS = 500
/** Time for both sides to end their connections once close frames have gone out, milliseconds. */
export const CLOSING_TIMEOUT_MS = 2000

/** A side that broke the protocol, and how. */
export interface Fault {
  readonly by: 'client' | 'upstream'
  readonly code: number
  readonly reason: string
  /** Nothing is wrong with it but the route's limit of messages. */
  readonly overLimit?: boolean
}

/** What the other side is told of a fault; the one at fault hears its own code. */
export function codeForOther({ by, overLimit }: Fault): number {
  if (overLimit) return TOO_LARGE
  return by === 'upstream' ? UPSTREAM_FAILED : GOING_AWAY
}

/** What a fault means for the log. */
export function faultError({ by, overLimit, reason }: Fault): GatewayError {
  if (by === 'upstream') {
    const message = 'The upstream violated the protocol.'
    return new GatewayError('bad_upstream_response', message, { cause: reason, phase: 'frame' })
  }
  if (overLimit) return new GatewayError('too_large', 'A message is over the limit.', { limit: 'body' })
  return new GatewayError('bad_request', `The client violated the protocol: ${reason}.`)
}

/** What it means for the log that an upstream closed with this code; nothing where the session ended well. */
export function closeError(code: number, reason: string): GatewayError | undefined {
  if (code === NORMAL || code === GOING_AWAY || code === NO_CODE) return undefined
  return new GatewayError('upstream_failed', 'The upstream ended the session.', {
    phase: 'close',
    cause: reason === '' ? `close ${code}` : `close ${code} ${reason}`,
  })
}

/** A client or an upstream that takes nothing of what waits for it. */
export function stalledError(side: Fault['by']): GatewayError {
  return side === 'client'
    ? new GatewayError('client_gone', 'The client stopped reading.', { phase: 'client_stall' })
    : new GatewayError('upstream_truncated', 'The upstream stopped reading.', { phase: 'stall' })
}

export function timedOut(phase: string): GatewayError {
  return new GatewayError('request_timeout', 'The session has ended.', { phase })
}
