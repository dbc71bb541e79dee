import type { IncomingMessage, Server } from 'node:http'
import type { Server as HttpsServer } from 'node:https'
import type { Duplex } from 'node:stream'

/** Whether a request asks for a WebSocket. A handshake has no body (RFC 6455 §4.1): with one it is a plain request. */
export function wantsSocket(request: IncomingMessage): boolean {
  return request.headers.upgrade?.toLowerCase() === 'websocket' && !hasBody(request)
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) !== 0
}

/** Which requests reach the `upgrade` event of a server; the others are served as if they had not asked. */
interface UpgradeChoice {
  shouldUpgradeCallback(request: IncomingMessage): boolean
}

/**
 * Known to Node from 24.9 on. With a body, Node 26 would give the event no socket. Without one, Node would drop what has come
 * behind the request if it did not reach the event.
 */
export const UPGRADES: UpgradeChoice = { shouldUpgradeCallback: request => !hasBody(request) }

/**
 * Serves a request that asks to upgrade to another protocol than WebSocket as a plain request, which a server may
 * (RFC 9110 §7.8): some clients offer HTTP/2 in every first request. Node has detached the connection by now, so it is handed
 * back to the server with its first bytes, without the upgrade header.
 */
export function serveInPlace(
  server: Server | HttpsServer,
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
): void {
  const lines = [`${request.method} ${request.url} HTTP/${request.httpVersion}`]
  const { rawHeaders } = request
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const [name = '', value = ''] = [rawHeaders[index], rawHeaders[index + 1]]
    if (!/^(upgrade|http2-settings|connection)$/i.test(name)) lines.push(`${name}: ${value}`)
  }
  const again = Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1')
  socket.unshift(Buffer.concat([again, head]))
  server.emit('setSecureContext' in server ? 'secureConnection' : 'connection', socket)
}
