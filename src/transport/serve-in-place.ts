import type { IncomingMessage, Server } from 'node:http'
import type { Server as HttpsServer } from 'node:https'
import type { Duplex } from 'node:stream'

export function wantsSocket({ headers }: IncomingMessage): boolean {
  return headers.upgrade?.toLowerCase() === 'websocket'
}

/**
 * Serves a request that asks to upgrade to another protocol than WebSocket as a plain request, which a server may
 * (RFC 9110 §7.8): some clients offer HTTP/2 in every first request. Older versions of Node have detached the
 * connection by now, so it is handed back to the server with its first bytes, without the upgrade header.
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
