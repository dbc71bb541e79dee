import {
  createServer as createHttpServer,
  type IncomingMessage,
  type Server,
  type ServerOptions,
  type ServerResponse,
} from 'node:http'
import { createServer as createHttpsServer, type Server as HttpsServer } from 'node:https'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { ListenConfig } from '../core/config.js'
import { errorBody } from '../core/error-bodies.js'
import { type ErrorCode, GatewayError } from '../core/errors.js'
import type { Limits } from '../core/limits.js'

/** How often Node looks for clients that are late with their request, milliseconds. */
const CHECK_INTERVAL = 1000

export type Listener = (request: IncomingMessage, response: ServerResponse) => void

/** The client listener: strict parsing, bounded heads, and an answer in words for what cannot be parsed. */
export function createServer(
  listen: ListenConfig,
  limits: Limits,
  onRequest: Listener,
  onParseError: (code: string) => void,
): Server | HttpsServer {
  const options: ServerOptions = {
    insecureHTTPParser: false,
    requireHostHeader: true,
    noDelay: true,
    keepAlive: true,
    keepAliveInitialDelay: 30_000,
    connectionsCheckingInterval: CHECK_INTERVAL,
  }
  const { tls } = listen
  const server =
    tls === undefined
      ? createHttpServer(options)
      : createHttpsServer({ ...options, cert: tls.cert.content.reveal(), key: tls.key.content.reveal() })
  applyLimits(server, limits)
  // Counted by the kernel, which can answer; Node would drop the headers over the count without a word.
  server.maxHeadersCount = 0
  server.on('request', onRequest)
  // A client that waits for 100 (Continue) gets it once its head has been checked.
  server.on('checkContinue', onRequest)
  server.on('checkExpectation', (_request: IncomingMessage, response: ServerResponse) => {
    refuse(response, new GatewayError('expectation_failed', 'Only 100-continue can be expected.'))
  })
  server.on('connect', (_request: IncomingMessage, socket: Duplex) => {
    socket.end(rawAnswer(new GatewayError('method_not_allowed', 'This is not a proxy.')))
  })
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Duplex) => {
    // A client that resets its connection sends nothing that could be refused.
    if (error.code !== 'ECONNRESET' && error.code !== 'EPIPE') onParseError(error.code ?? error.name)
    answerUnparsed(error, socket as Socket)
  })
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
  response.writeHead(error.status, { 'content-type': 'application/json', connection: 'close' })
  response.end(body)
}

const PARSE_ERRORS: Readonly<Record<string, [ErrorCode, string]>> = {
  HPE_HEADER_OVERFLOW: ['headers_too_large', 'The request headers are too large.'],
  ERR_HTTP_REQUEST_TIMEOUT: ['request_timeout', 'The request did not arrive in time.'],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: ['too_large', 'The chunk extensions are too large.'],
}

function answerUnparsed(error: NodeJS.ErrnoException, socket: Socket): void {
  // The response of the request before this one may be on its way; nothing may be mixed into it.
  const busy = '_httpMessage' in socket && socket._httpMessage !== null
  if (error.code === 'ECONNRESET' || !socket.writable || (busy && socket.bytesWritten > 0)) {
    socket.destroy()
    return
  }
  const [code, message] = PARSE_ERRORS[error.code ?? ''] ?? ['bad_request', 'The request is not valid HTTP/1.1.']
  socket.end(rawAnswer(new GatewayError(code, message)), () => socket.destroy())
}

function rawAnswer(error: GatewayError): string {
  const body = JSON.stringify(errorBody(error, 'compatible', ''))
  return (
    `HTTP/1.1 ${error.status} ${REASONS[error.status] ?? 'Error'}\r\n` +
    `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n` +
    `x-gateway-error: ${error.code}\r\nconnection: close\r\n\r\n${body}`
  )
}

const REASONS: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  405: 'Method Not Allowed',
  408: 'Request Timeout',
  413: 'Content Too Large',
  431: 'Request Header Fields Too Large',
}
