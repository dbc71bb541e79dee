import { AdminError, type AdminRoute, objectOf, TEXT } from '../route.js'

export const restart: AdminRoute = {
  method: 'POST',
  path: '/admin/restart',
  summary:
    'Replaces the workers one after another: each finishes its requests while the others serve. 409: the process has no workers.',
  status: 202,
  answer: objectOf({ status: TEXT }),
  async handle(_request, host) {
    if (host.restart === undefined) {
      throw new AdminError(409, 'conflict', 'without workers only its supervisor can restart the process')
    }
    // The answer goes first.
    setImmediate(() => host.restart?.())
    return { status: 'restarting' }
  },
}
