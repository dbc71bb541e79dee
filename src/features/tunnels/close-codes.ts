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
 * How long the other side may continue after one side has closed or broken the protocol, milliseconds: its answers to
 * earlier messages still pass, and its own close frame ends that time.
 */
export const PARTING_TIMEOUT_MS = 500
/** Time for both sides to end their connections after close frames were sent, milliseconds. */
export const CLOSING_TIMEOUT_MS = 2000
/** Time for the rest of a frame before the gateway's own close frame, if its receiver still reads, milliseconds. */
export const FRAME_TIMEOUT_MS = 60_000

/** A side that broke the protocol, and how. */
export interface Fault {
  readonly by: 'client' | 'upstream'
  readonly code: number
  readonly reason: string
  /** The message is valid, but over the route's limit. */
  readonly overLimit?: boolean
}

/** The close code for the other side; the side at fault gets the fault's own code. */
export function codeForOther({ by, overLimit }: Fault): number {
  if (overLimit) return TOO_LARGE
  return by === 'upstream' ? UPSTREAM_FAILED : GOING_AWAY
}

/** The error that is logged for a fault. */
export function faultError({ by, overLimit, reason }: Fault): GatewayError {
  if (by === 'upstream') {
    const message = 'The upstream violated the protocol.'
    return new GatewayError('bad_upstream_response', message, { cause: reason, phase: 'frame' })
  }
  if (overLimit) return new GatewayError('too_large', 'A message is over the limit.', { limit: 'body' })
  return new GatewayError('bad_request', `The client violated the protocol: ${reason}.`)
}

/** The error that is logged if an upstream closed with this code; undefined if the session ended well. */
export function closeError(code: number, reason: string): GatewayError | undefined {
  if (code === NORMAL || code === GOING_AWAY || code === NO_CODE) return undefined
  return new GatewayError('upstream_failed', 'The upstream ended the session.', {
    phase: 'close',
    cause: reason === '' ? `close ${code}` : `close ${code} ${reason}`,
  })
}

/** For a client or an upstream that does not read what was sent to it. */
export function stalledError(side: Fault['by']): GatewayError {
  return side === 'client'
    ? new GatewayError('client_gone', 'The client stopped reading.', { phase: 'client_stall' })
    : new GatewayError('upstream_truncated', 'The upstream stopped reading.', { phase: 'stall' })
}

export function timedOut(phase: string): GatewayError {
  return new GatewayError('request_timeout', 'The session has ended.', { phase })
}
