import { GatewayError } from '../core/errors.js'
import type { HttpRequest } from '../transport/exchange.js'

/** The method of WebSocket routes in a plan. */
export const SOCKET_METHOD = 'WS'

/**
 * Browsers send a page's credentials to wherever its script connects, with the page's origin. Pages of the same host and
 * declared ones are allowed; other clients send their target's origin, or none.
 */
export function checkOrigin({ headers }: HttpRequest, allowed: readonly string[]): void {
  const { origin, host } = headers
  if (origin === undefined || allowed.includes(origin) || allowed.includes('*')) return
  if (URL.canParse(origin) && new URL(origin).host === host) return
  throw new GatewayError('bad_request', 'This origin may not open WebSockets here.', { status: 403, param: 'origin' })
}
