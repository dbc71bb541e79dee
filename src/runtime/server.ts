import {
  createServer as createHttpServer,
  type IncomingMessage,
  type Server,
  type ServerOptions,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http'
import { createServer as createHttpsServer, type Server as HttpsServer } from 'node:https'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { SecureContextOptions } from 'node:tls'
import type { TransportName } from '../core/config.js'
import { errorBody } from '../core/error-bodies.js'
import { type ErrorCode, GatewayError } from '../core/errors.js'
import type { Limits } from '../core/limits.js'
import type { ListenConfig } from '../core/process-config.js'
import { knowAllConnections } from '../transport/all-connections.js'
import type { HttpExchange } from '../transport/exchange.js'
import { NodeExchange } from '../transport/node-exchange.js'
import { serveInPlace, UPGRADES, wantsSocket } from '../transport/serve-in-place.js'
import { type ConnectionError, interceptConnections } from '../transport/server/intercept.js'
import { endInTurn, serveInTurn } from '../transport/turns.js'
import { StartError } from './problems.js'

/** How often Node checks for clients that are late with their request, milliseconds. */
const CHECK_INTERVAL_MS = 1000

/** A request that asks for a WebSocket; `head` has come after it. */
type SocketListener = (request: IncomingMessage, socket: Duplex, head: Buffer) => void

/** The client listener: strict parsing, bounded heads, and an answer in words for what cannot be parsed. */
export function createServer(
  listen: ListenConfig,
  limits: Limits,
  serve: (exchange: HttpExchange) => void,
  onParseError: (code: string, client: string | undefined) => void,
  onSocket: SocketListener,
  transport: TransportName,
): Server | HttpsServer {
  const options: ServerOptions = {
    ...UPGRADES,
    insecureHTTPParser: false,
    // The kernel asks for it, and answers in words; Node's own answer would have no body.
    requireHostHeader: false,
    noDelay: true,
    keepAlive: true,
    keepAliveInitialDelay: 30_000,
    connectionsCheckingInterval: CHECK_INTERVAL_MS,
  }
  const { tls } = listen
  const secure = tls && { handshakeTimeout: limits.headers, ...secureOf(tls), ...asking(tls) }
  const server = secure === undefined ? createHttpServer(options) : createHttpsServer({ ...options, ...secure })
  applyLimits(server, limits)
  // Counted by the kernel, which can answer; Node would drop the headers over the count without a word.
  server.maxHeadersCount = 0
  const onRequest = (request: IncomingMessage, response: ServerResponse): void =>
    serveInTurn(request, response, () => serve(new NodeExchange(request, response)))
  server.on('request', onRequest)
  // A client that waits for 100 (Continue) gets it once its head has been checked.
  server.on('checkContinue', onRequest)
  server.on('checkExpectation', (_request: IncomingMessage, response: ServerResponse) => {
    refuse(response, new GatewayError('expectation_failed', 'Only 100-continue can be expected.'))
  })
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    if (!isAlone(socket)) return
    if (wantsSocket(request)) onSocket(request, socket, head)
    else serveInPlace(server, request, socket, head)
  })
  server.on('connect', (_request: IncomingMessage, socket: Duplex) => {
    const refusal = new GatewayError('method_not_allowed', 'This is not a proxy.')
    if (isAlone(socket)) socket.end(rawAnswer(refusal), () => socket.destroy())
  })
  server.on('clientError', (error: ConnectionError, socket: Duplex) => {
    // A client that resets its connection sends nothing that could be refused.
    if (error.code !== 'ECONNRESET' && error.code !== 'EPIPE') {
      onParseError(error.code ?? error.name, (socket as Socket).remoteAddress)
    }
    const answer = (): void => answerUnparsed(error, socket as Socket)
    // What is broken may come after a request that is being answered.
    if (!PARSED_BYTES.test(error.code ?? '') || endInTurn(socket, answer)) answer()
  })
  // Behind Node's own listener, which makes it a `clientError`: without TLS, no answer in words can be sent.
  server.on('tlsClientError', (_error: Error, socket: Duplex) => socket.destroy())
  if (transport === 'fast') interceptConnections(server, serve)
  knowAllConnections(server)
  return server
}

/** The settings of a running server that may change with the plan. */
export function applyLimits(server: Server | HttpsServer, limits: Limits): void {
  server.headersTimeout = limits.headers
  server.requestTimeout = limits.headers + limits.upload
  server.keepAliveTimeout = limits.keep_alive
  Object.assign(server, { maxHeaderSize: limits.header_bytes + limits.url })
}

function refuse(response: ServerResponse, error: GatewayError): void {
  const body = JSON.stringify(errorBody(error, 'compatible', ''))
  response.writeHead(error.status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    'x-gateway-error': error.code,
    connection: 'close',
  })
  response.end(body)
}

function destroyThis(this: Duplex): void {
  this.destroy()
}

/**
 * A request that leaves HTTP comes when all before it are answered. If it does not, the connection ends with it: Node has
 * let go of the connection, so it cannot be served in its turn.
 */
function isAlone(socket: Duplex): boolean {
  // Node has taken its own listener off: a client that resets the connection would end the process.
  socket.off('error', destroyThis).on('error', destroyThis)
  const refusal = new GatewayError('bad_request', 'A request to upgrade must wait for the answers to those before it.')
  return endInTurn(socket, () => socket.end(rawAnswer(refusal), () => socket.destroy()))
}

/** Errors of a parser, without the one of a client that has gone. */
const PARSED_BYTES = /^HPE_(?!INVALID_EOF_STATE)/

const PARSE_ERRORS: Readonly<Record<string, [ErrorCode, string]>> = {
  HPE_HEADER_OVERFLOW: ['headers_too_large', 'The request headers are too large.'],
  ERR_HTTP_REQUEST_TIMEOUT: ['request_timeout', 'The request did not arrive in time.'],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: ['too_large', 'The chunk extensions are too large.'],
}

function answerUnparsed(error: ConnectionError, socket: Socket): void {
  const { isAnswering } = error
  // The response of the request before this one may be on its way; nothing may be mixed into it.
  const busy = ('_httpMessage' in socket && socket._httpMessage !== null) || isAnswering === true
  if (error.code === 'ECONNRESET' || !socket.writable || (busy && socket.bytesWritten > 0)) {
    socket.destroy()
    return
  }
  const [code, message] = PARSE_ERRORS[error.code ?? ''] ?? ['bad_request', 'The request is not valid HTTP/1.1.']
  socket.end(rawAnswer(new GatewayError(code, message)), () => socket.destroy())
}

/** An answer in words on a bare connection, which ends with it. */
export function rawAnswer(error: GatewayError): string {
  const body = JSON.stringify(errorBody(error, 'compatible', ''))
  const wait = error.details.retryAfter
  return (
    `HTTP/1.1 ${error.status} ${STATUS_CODES[error.status] ?? 'Error'}\r\n` +
    `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n` +
    `x-gateway-error: ${error.code}\r\n${error.status === 401 ? 'www-authenticate: Bearer\r\n' : ''}` +
    (wait === undefined ? '' : `retry-after: ${Math.ceil(wait / 1000)}\r\n`) +
    `connection: close\r\n\r\n${body}`
  )
}

type Tls = NonNullable<ListenConfig['tls']>

function secureOf({ cert, key, clientCa, clientCrl }: Tls): Pick<SecureContextOptions, 'cert' | 'key' | 'ca' | 'crl'> {
  const ca = clientCa === undefined ? {} : { ca: clientCa.content.reveal() }
  const crl = clientCrl === undefined ? {} : { crl: clientCrl.content.reveal() }
  return { cert: cert.content.reveal(), key: key.content.reveal(), ...ca, ...crl }
}

/** A certificate that does not count, or is missing, is refused in words, by the answer to the request. */
function asking({ clientCa }: Tls): object {
  return clientCa === undefined ? {} : { requestCert: true, rejectUnauthorized: false }
}

/** New connections are served with the certificate of these settings. */
export function renewCertificate(server: Server | HttpsServer, { tls }: ListenConfig): void {
  if (tls === undefined || !('setSecureContext' in server)) return
  server.setSecureContext(secureOf(tls))
}

/** Opens a listener. Throws {@link StartError} with one clear line where that cannot be. */
export async function listen(
  server: Server | HttpsServer,
  { host, port, backlog }: Pick<ListenConfig, 'host' | 'port' | 'backlog'>,
  words: Words = { host: 'listen.host or --host', port: 'listen.port or --port' },
): Promise<void> {
  await new Promise<void>((listening, failed) => {
    const fail = (error: NodeJS.ErrnoException): void =>
      failed(new StartError(explain(error, host, port, words), error.code === 'EADDRINUSE'))
    server.once('error', fail)
    server.listen({ host, port, backlog }, () => {
      server.off('error', fail)
      listening()
    })
  })
}

/** Where an address is written. */
interface Words {
  readonly host: string
  readonly port: string
}

function explain(error: NodeJS.ErrnoException, host: string, port: number, words: Words): string {
  const address = `${host}:${port}`
  switch (error.code) {
    case 'EADDRINUSE':
      return `${address} is in use by another process; choose another port (${words.port})`
    case 'EACCES':
      return `no permission to listen on ${address}; ports under 1024 need privileges`
    case 'EADDRNOTAVAIL':
      return `${host} is not an address of this machine (${words.host})`
    case 'ENOTFOUND':
      return `the host name ${host} cannot be resolved (${words.host})`
    default:
      return `cannot listen on ${address}: ${error.message}`
  }
}
