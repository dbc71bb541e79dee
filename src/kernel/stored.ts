import { GatewayError } from '../core/errors.js'
import { StoreError } from '../core/store.js'

/** Turns a store's faults into the client's error. */
export async function stored<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (cause) {
    if (!(cause instanceof StoreError)) throw cause
    throw new GatewayError('unavailable', 'The gateway cannot reach its store. Try again soon.', {
      cause,
      phase: 'store',
      retryAfter: 1000,
    })
  }
}
