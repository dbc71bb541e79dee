import { GatewayError } from '../core/errors.js'
import { slot } from './slot.js'
import type { Feature, Stage } from './stages.js'

/** The key by which a request counts among all requests in flight, once it does. */
const PLACED = slot<string>('in_flight')

const stage: Stage = {
  name: 'in_flight',
  admit(call) {
    if (!call.kernel.inFlight.take(call.key)) {
      throw new GatewayError('unavailable', 'Too many requests are in flight. Try again soon.', {
        retryAfter: 1000,
        limit: 'in_flight',
      })
    }
    call.set(PLACED, call.key)
  },
  settle(call) {
    const placed = call.get(PLACED)
    if (placed !== undefined) call.kernel.inFlight.release(placed)
  },
}

/** Bounds the requests in flight, of all keys together and with a fair share for each. */
export const inFlight: Feature = { name: 'in_flight', compile: () => stage }
