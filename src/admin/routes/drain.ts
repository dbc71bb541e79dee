import { type AdminRoute, objectOf, TEXT } from '../route.js'

export const drain: AdminRoute = {
  method: 'POST',
  path: '/admin/drain',
  summary: 'Takes no new requests, finishes those in flight, and ends the process.',
  status: 202,
  answer: objectOf({ status: TEXT }),
  async handle(_request, host) {
    // The answer goes first.
    setImmediate(() => host.drain())
    return { status: 'draining' }
  },
}
