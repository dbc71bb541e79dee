import type { IncomingHttpHeaders } from 'node:http'
import { CLIENT_SECRET_PREFIX } from '../../core/client-secrets.js'
import { GatewayError } from '../../core/errors.js'
import type { Exchange, Route } from '../../core/plan.js'
import { acceptOf } from '../../core/socket-key.js'
import type { Call } from '../../kernel/call.js'
import { changedBody, isKey } from '../../kernel/changes.js'
import { responseHeaders } from '../../kernel/response-headers.js'
import type { AttemptView } from '../../kernel/stages.js'
import { buildRequest } from '../../kernel/upstream-request.js'
import type { TunnelRequest } from '../../net/message-socket.js'
import type { UpstreamRequest } from '../../net/pools.js'
import type { HttpRequest } from '../../transport/exchange.js'
import { TOKEN } from '../../transport/header-lines.js'

/** Sixteen bytes in base64 (RFC 6455 §4.1). */
const WEBSOCKET_KEY = /^[+/0-9A-Za-z]{22}==$/
const WEBSOCKET_VERSION = '13'
const PROTOCOL_HEADER = 'sec-websocket-protocol'
const namesIn = (list: string): readonly string[] => list.split(',').map(name => name.trim())

/**
 * Rejects requests that are not an opening handshake (RFC 6455 §4.2.1). `framed`: the library reads the subprotocols, too, and
 * takes each name once.
 */
export function checkHandshake({ method, headers }: HttpRequest, framed: boolean): void {
  const wrong = (message: string) =>
    new GatewayError('bad_request', `The WebSocket handshake is not valid: ${message}.`)
  if (method !== 'GET') throw wrong('its method must be GET')
  if (!WEBSOCKET_KEY.test(headers['sec-websocket-key'] ?? ''))
    throw wrong('sec-websocket-key must be 16 bytes in base64')
  const listed = headers[PROTOCOL_HEADER]
  const names = framed && listed !== undefined ? namesIn(listed) : []
  if (new Set(names).size < names.length || !names.every(name => TOKEN.test(name)))
    throw wrong(`${PROTOCOL_HEADER} must be a list of different names`)
  if (headers['sec-websocket-version'] === WEBSOCKET_VERSION) return
  throw new GatewayError('bad_request', 'Only version 13 of the WebSocket protocol is supported.', {
    status: 426,
    headers: ['sec-websocket-version', WEBSOCKET_VERSION],
  })
}

/** The request that opens a tunnel, before it is signed. */
export function upstreamRequest(attempt: AttemptView): UpstreamRequest {
  return buildRequest(attempt, changedBody(attempt.call, attempt.exchange, { type: 'none' }))
}

/**
 * The handshake with an upstream. It is built, not copied: the declared headers, the upstream's credential, the headers that
 * `forward` lists, the allowed subprotocols, the client's query without the model and keys. No extension is offered, so the
 * gateway can read the frames of both sides.
 */
export function upstreamHandshake(
  { call, exchange }: AttemptView,
  route: Route,
  { path, headers: flat }: UpstreamRequest,
): TunnelRequest {
  const headers: Record<string, string> = Object.create(null)
  for (let index = 0; index + 1 < flat.length; index += 2) {
    const [name = '', value = ''] = [flat[index], flat[index + 1]]
    headers[name] = headers[name] === undefined ? value : `${headers[name]}, ${value}`
  }
  const offered = offeredTo(call, route)
  const credential = headers[PROTOCOL_HEADER]
  if (credential !== undefined) offered.push(credential)
  if (offered.length > 0) headers[PROTOCOL_HEADER] = offered.join(', ')
  const { origin, egress } = call.generation.reach(exchange.upstream)
  return { origin, path, headers, egress, connectMs: exchange.timeouts.connect }
}

/** The client's subprotocols that the upstream may see: never a key. */
function offeredTo(call: Call, route: Route): string[] {
  const pass = route.protocol?.subprotocols?.pass ?? (() => true)
  return offersOf(call, route).filter(pass)
}

/** The client's subprotocols (RFC 6455 §4.1) without those that hold a key. */
function offersOf(call: Call, { caller }: Route): readonly string[] {
  const prefixes = caller.flatMap(place => (place.in === 'subprotocol' ? [place.prefix] : []))
  const names = namesIn(call.request.headers[PROTOCOL_HEADER] ?? '')
  return names.filter(
    name =>
      name !== '' &&
      !name.startsWith(CLIENT_SECRET_PREFIX) &&
      !prefixes.some(prefix => name.startsWith(prefix)) &&
      !isKey(call, name),
  )
}

/** The answer to the client's handshake: 101, with those of the upstream's headers that may pass. */
export function clientAnswer(call: Call, route: Route, exchange: Exchange, headers: IncomingHttpHeaders): string {
  const lines = [
    'HTTP/1.1 101 Switching Protocols',
    'upgrade: websocket',
    'connection: Upgrade',
    `sec-websocket-accept: ${acceptOf(call.request.headers['sec-websocket-key'] ?? '')}`,
  ]
  const protocol = chosenSubprotocol(call, route, headers[PROTOCOL_HEADER])
  if (protocol !== undefined) lines.push(`${PROTOCOL_HEADER}: ${protocol}`)
  return `${[...lines, ...passedLines(call, exchange, headers)].join('\r\n')}\r\n\r\n`
}

/** Header lines of the client's answer that are not about the handshake itself. */
export function passedLines(call: Call, exchange: Exchange, headers: IncomingHttpHeaders): readonly string[] {
  const passed = [...responseHeaders(headers, exchange), 'x-request-id', call.id]
  for (const onAnswerHead of call.chain.onAnswerHead) onAnswerHead(call, 101, passed)
  return passed.flatMap((name, index) => (index % 2 === 0 ? [`${name}: ${passed[index + 1]}`] : []))
}

/** The subprotocol for the client: a declared one that it offered, or else the upstream's choice if the client offered it. */
export function chosenSubprotocol(call: Call, route: Route, choice: string | undefined): string | undefined {
  const offers = offersOf(call, route)
  const declared = route.protocol?.subprotocols
  if (declared === undefined) return offers.find(name => name === choice)
  return declared.answer.find(name => offers.includes(name))
}
