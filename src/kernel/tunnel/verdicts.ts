import { GatewayError } from '../../core/errors.js'

/** Close codes of RFC 6455 §7.4.1. */
export const NORMAL = 1000
export const GOING_AWAY = 1001
export const PROTOCOL_ERROR = 1002
/** Never sent: a close frame without a code. */
export const NO_CODE = 1005
/** Never sent: a connection that ended without a close frame. */
export const ABNORMAL = 1006
export const POLICY = 1008
export const UPSTREAM_FAILED = 1011

/** What it means for the log that an upstream closed with this code; nothing where the session ended well. */
export function closeError(code: number, reason: string): GatewayError | undefined {
  if (code === NORMAL || code === GOING_AWAY || code === NO_CODE) return undefined
  return new GatewayError('upstream_failed', 'The upstream ended the session.', {
    phase: 'close',
    cause: reason === '' ? `close ${code}` : `close ${code} ${reason}`,
  })
}
