import { GatewayError } from '../../core/errors.js'
import { copied } from '../../kernel/inner.js'
import { slot } from '../../kernel/slot.js'
import type { Feature, Stage } from '../../kernel/stages.js'

/** The key whose place the request holds, once it has one. */
const PLACED = slot<string>('in_flight')

/** Owner of the places of copied requests, which are not their keys'. No key has this name. */
const COPIES = 'copies\0'

const stage: Stage = {
  name: 'in_flight',
  admit(call) {
    const place = copied(call.request) === undefined ? call.key : COPIES
    if (!call.kernel.inFlight.take(place)) {
      throw new GatewayError('unavailable', 'Too many requests are in flight. Try again soon.', {
        retryAfter: 1000,
        limit: 'in_flight',
      })
    }
    call.set(PLACED, place)
  },
  settle(call) {
    const placed = call.get(PLACED)
    if (placed !== undefined) call.kernel.inFlight.release(placed)
  },
}

/** Bounds the requests in flight, of all keys together and with a fair share for each. */
export const inFlight: Feature = { name: 'in_flight', compile: () => stage }
