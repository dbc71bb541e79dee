import type { RequestEntry } from '../core/entry.js'
import type { Call } from './call.js'
import { slot } from './slot.js'

/** How a WebSocket ended that was passed through. */
export const CLOSED = slot<NonNullable<RequestEntry['closed']>>('how a socket ended')

/** The first reason counts. */
export function noteClosed(call: Call, closed: NonNullable<RequestEntry['closed']>): void {
  if (call.get(CLOSED) === undefined) call.set(CLOSED, closed)
}
