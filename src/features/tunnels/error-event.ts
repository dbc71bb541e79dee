import { errorBody } from '../../core/error-bodies.js'
import type { GatewayError } from '../../core/errors.js'
import type { TunnelContext } from './context.js'

/** The event that tells a client why its session ends; undefined if its protocol has no such event. */
export function errorEvent({ call, route }: TunnelContext, error: GatewayError): string | undefined {
  if (route.protocol?.messages.errorEvent !== true) return undefined
  return JSON.stringify({ type: 'error', event_id: `event_${call.id}`, ...errorBody(error, route.errors, call.id) })
}
