import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { setSocketCaller } from '../../features/console/play.js'
import { callerNamed } from '../callers.js'
import type { AdminHost } from '../host.js'
import { AdminError } from '../route.js'
import type { Session } from './session.js'

/** Where the playground talks to realtime models. */
export const REALTIME_PATH = '/admin/play/realtime'
/** Headers that the gateway's own listener must not take for the client's. */
const PRIVATE = /^(cookie|authorization|x-console|api-key|x-api-key|x-goog-api-key|sec-websocket-protocol)$/i

/**
 * Opens a session of a realtime model in the name of a key, for a page of the console: `?key=NAME&model=MODEL`. From here on it
 * is a WebSocket like any other: with the stages, limits and log lines of the key. `onStatus`: called with the status of the answer
 * to its handshake. Throws {@link AdminError}.
 */
export async function openRealtime(
  incoming: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  { session, host }: { readonly session: Session | undefined; readonly host: AdminHost },
  onStatus: (status: number) => void,
): Promise<void> {
  const { url = '', headers } = incoming
  const mark = url.indexOf('?')
  if ((mark < 0 ? url : url.slice(0, mark)) !== REALTIME_PATH)
    throw new AdminError(404, 'not_found', 'the admin API has no such WebSocket')
  if (session === undefined) throw new AdminError(401, 'unauthenticated', 'a session of the console opens this')
  const site = headers['sec-fetch-site']
  const isOwn = headers.origin === `http://${headers.host}` || headers.origin === `https://${headers.host}`
  // A WebSocket has no header that proves the page: its origin must.
  if (!isOwn || (site !== undefined && site !== 'same-origin'))
    throw new AdminError(403, 'forbidden', 'a page of another origin has sent this')
  if (session.role === 'viewer')
    throw new AdminError(403, 'forbidden', 'this session may only look: sign in again to change something')
  const query = new URLSearchParams(url.slice(mark + 1))
  const [key, model] = [query.get('key'), query.get('model')]
  if (key === null || model === null) throw new AdminError(400, 'invalid_request', 'expected ?key=NAME&model=MODEL')
  const caller = await callerNamed(key, host)
  incoming.url = `/v1/realtime?model=${encodeURIComponent(model)}`
  incoming.rawHeaders = incoming.rawHeaders.filter((_, at, all) => !PRIVATE.test(all[at - (at % 2)] ?? ''))
  for (const name of Object.keys(headers)) if (PRIVATE.test(name)) delete headers[name]
  setSocketCaller(incoming, caller, onStatus)
  host.openSocket(incoming, socket, head)
}
