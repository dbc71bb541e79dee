import { randomBytes } from 'node:crypto'
import { request as askPlain, type IncomingHttpHeaders } from 'node:http'
import { request as askSecure } from 'node:https'
import type { Duplex } from 'node:stream'
import { acceptOf } from '../core/socket-key.js'
import { createConnection } from './egress.js'
import { type OpeningHandler, readRefusal, type TunnelRequest } from './message-socket.js'
import { names } from './names.js'

/**
 * Asks an upstream for a WebSocket whose bytes are passed on unchanged: the handler gets the connection as it is behind
 * the upstream's answer. The way to give it up is returned.
 */
export function openRaw(
  { origin, path, headers, egress, connectMs }: TunnelRequest,
  handler: OpeningHandler<Duplex>,
): () => void {
  const isSecure = origin.startsWith('https:')
  const key = randomBytes(16).toString('base64')
  let isOver = false
  const request = (isSecure ? askSecure : askPlain)(origin, {
    ...(egress === undefined
      ? { agent: false, lookup: names.lookup }
      : { createConnection: createConnection(egress, new URL(origin), connectMs) }),
    headers: {
      ...headers,
      host: new URL(origin).host,
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-version': '13',
      'sec-websocket-key': key,
    },
  })
  // As it was built: the option of that name would be checked and normalised.
  request.path = path
  request.once('socket', socket => {
    if (egress !== undefined) {
      handler.connected()
      return
    }
    socket.setNoDelay(true).setKeepAlive(true)
    socket.once(isSecure ? 'secureConnect' : 'connect', () => handler.connected())
  })
  request.once('upgrade', (answer, socket, head) => {
    // The connection's owner has a listener of its own.
    socket.on('error', () => undefined)
    const wrong = invalidAnswer(answer.headers, key, headers['sec-websocket-protocol'])
    if (isOver || wrong !== undefined) socket.destroy()
    if (isOver) return
    isOver = true
    if (wrong !== undefined) {
      handler.failed(Object.assign(new Error(wrong), { code: 'HPE_HANDSHAKE' }))
      return
    }
    if (head.length > 0) socket.unshift(head)
    handler.opened(answer.headers, socket)
  })
  request.once('response', answer => {
    if (isOver) answer.destroy()
    else readRefusal(answer, handler)
    isOver = true
  })
  request.on('error', cause => {
    if (!isOver) handler.failed(cause)
    isOver = true
  })
  request.end()
  return () => {
    isOver = true
    request.destroy()
  }
}

/** Why an answer does not fit the handshake with this key (RFC 6455 §4.1); no extension has been offered. */
function invalidAnswer(headers: IncomingHttpHeaders, key: string, offered = ''): string | undefined {
  if (headers['sec-websocket-accept'] !== acceptOf(key)) return 'not the answer to this handshake'
  if (headers['sec-websocket-extensions'] !== undefined) return 'an extension that was not offered'
  const chosen = headers['sec-websocket-protocol']
  if (chosen === undefined) return undefined
  if (chosen !== '' && offered.split(',').some(name => name.trim() === chosen)) return undefined
  return 'a subprotocol that was not offered'
}
