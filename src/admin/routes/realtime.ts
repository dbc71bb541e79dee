import { REALTIME_PATH } from '../console/sockets.js'
import { AdminError, type AdminRoute, TEXT } from '../route.js'

/** For the document, and for those who ask without a handshake: sockets take another way. */
export const playRealtime: AdminRoute = {
  method: 'GET',
  path: REALTIME_PATH,
  summary:
    'A WebSocket to a realtime model in the name of a key, under its limits: the messages of its protocol, both ways. It takes a session of the console and its origin, and no admin key.',
  query: { key: TEXT, model: TEXT },
  status: 101,
  answer: TEXT,
  handle: async () => {
    throw new AdminError(426, 'upgrade_required', 'this is a WebSocket: send its opening handshake')
  },
}
