import { hash, timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import { type Duplex, finished, Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { GatewayError } from '../core/errors.js'
import { isObject, type JsonObject } from '../core/json.js'
import type { AdminPlan } from '../core/process-config.js'
import { StoreError } from '../core/store.js'
import { knowAllConnections } from '../transport/all-connections.js'
import { serveInPlace, UPGRADES, wantsSocket } from '../transport/serve-in-place.js'
import { costNow } from '../wire/json-cost.js'
import { answerFile } from './console/files.js'
import { type Session, sessionOf } from './console/session.js'
import { openRealtime } from './console/sockets.js'
import type { AdminHost } from './host.js'
import { AdminError, type AdminRoute, clientGone, type StreamAnswer, type TextAnswer } from './route.js'
import { checkBody, queryOf, routeOf, serves } from './router.js'

/** Largest body of a request, bytes. */
const MAX_BODY_BYTES = 64 * 1024
const MAX_HEAD_BYTES = 16 * 1024
const MAX_CONNECTIONS = 100
const HEADERS_TIMEOUT_MS = 10_000
const REQUEST_TIMEOUT_MS = 30_000

/** How often it is looked whether those who read a stream still may, milliseconds. */
const LOOK_AGAIN_MS = 2000

/** One line for each request that had the admin key, and for each that had not. */
type AdminLog = (fields: {
  readonly admin: string
  readonly status: number
  readonly client: string | undefined
  /** The person who signed in at an issuer. */
  readonly by?: string | undefined
  readonly error?: string
}) => void

interface AdminTools {
  readonly table: readonly AdminRoute[]
  readonly host: AdminHost
  readonly log: AdminLog
}

/** The admin listener. `settings` are those that it starts with; a changed key counts at once. */
export function createAdminServer(settings: AdminPlan, tools: AdminTools): Server {
  const { tls } = settings
  const options = {
    ...UPGRADES,
    maxHeaderSize: MAX_HEAD_BYTES,
    requestTimeout: REQUEST_TIMEOUT_MS,
    headersTimeout: HEADERS_TIMEOUT_MS,
    handshakeTimeout: HEADERS_TIMEOUT_MS,
  }
  const server =
    tls === undefined
      ? createServer(options)
      : createHttpsServer({ ...options, cert: tls.cert.content.reveal(), key: tls.key.content.reveal() })
  server.maxConnections = MAX_CONNECTIONS
  const digest = (): string | undefined => (tools.host.plan.admin ?? settings).digest
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    void serve(request, response, digest, tools)
  })
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on('error', () => socket.destroy())
    if (wantsSocket(request)) void serveSocket(request, socket, head, digest, tools)
    else serveInPlace(server, request, socket, head)
  })
  knowAllConnections(server)
  return server
}

/** WebSockets are for pages of the console alone. */
async function serveSocket(
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  digest: () => string | undefined,
  { host, log }: AdminTools,
): Promise<void> {
  const client = request.socket.remoteAddress
  // What it sent as it was: the playground's request continues without its cookie.
  const sent = { headers: { ...request.headers }, socket: request.socket }
  const session = sessionFor(sent, digest(), host)
  const admin = `GET ${(request.url ?? '').split('?', 1)[0]?.slice(0, 200)}`
  let isLogged = false
  const onStatus = (status: number): void => {
    if (!isLogged) log({ admin, status, client, by: session?.name })
    isLogged = true
  }
  try {
    await openRealtime(request, socket, head, { session, host }, onStatus)
    endWithout(socket, () => sessionFor(sent, digest(), host))
    // Its client may leave before it has an answer.
    finished(socket, () => onStatus(clientGone().status))
  } catch (cause) {
    const { status, type, message } = errorOf(cause)
    log({ admin, status, client, by: session?.name, ...(status < 500 ? {} : { error: String(cause) }) })
    const body = JSON.stringify({ error: { type, message } })
    const lines = [
      `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'Error'}`,
      'content-type: application/json',
      `content-length: ${Buffer.byteLength(body)}`,
      'connection: close',
    ]
    socket.end(`${lines.join('\r\n')}\r\n\r\n${body}`, () => socket.destroy())
  }
}

async function serve(
  request: IncomingMessage,
  response: ServerResponse,
  digest: () => string | undefined,
  tools: AdminTools,
): Promise<void> {
  const { method = '', url = '' } = request
  const client = request.socket.remoteAddress
  const mark = url.indexOf('?')
  const path = mark < 0 ? url : url.slice(0, mark)
  let status: number
  let body: unknown
  let cause: unknown
  let by: string | undefined
  const cookies: string[] = []
  const gone = new AbortController()
  response.once('close', () => gone.abort())
  if (tools.host.plan.admin?.console === true && answerFile(request, response, path)) return
  try {
    const isEncrypted = 'encrypted' in request.socket
    const allowed = (): Session | 'key' | undefined =>
      isAllowed(request, digest()) ? 'key' : sessionFor(request, digest(), tools.host)
    const session = allowed()
    if (session === undefined && !isOpen(tools, method, path))
      throw new AdminError(401, 'unauthenticated', 'send the admin key as a Bearer token')
    const { route, params } = routeOf(tools.table, method, path)
    if (session !== undefined && session !== 'key' && route.isNavigation !== true) checkSession(request, route, session)
    by = session === 'key' ? undefined : session?.name
    const query = queryOf(route, mark < 0 ? '' : url.slice(mark + 1))
    const given = await bodyOf(request, route, tools.host.plan.limits.depth)
    const setCookie = (cookie: string): void => void cookies.push(cookie)
    const { headers } = request
    const { accept } = headers
    const asked = { params, query, body: given, headers, accept, client, isEncrypted, gone: gone.signal, setCookie }
    body = await route.handle({ ...asked, session: session === 'key' ? undefined : session }, tools.host)
    status = route.status
    if (route.isText === true) {
      send(request, response, status, body as TextAnswer)
      return
    }
    if (route.stream !== undefined) {
      tools.log({ admin: `${method} ${path}`, status, client, by })
      if (cookies.length > 0) response.setHeader('set-cookie', cookies)
      endWithout(response, allowed)
      await sendPieces(response, route.stream, body as StreamAnswer)
      return
    }
  } catch (error) {
    cause = error
    const { status: told, type, message, more } = errorOf(error)
    status = told
    body = { error: { type, message, ...more } }
  }
  const error = status < 500 ? {} : { error: String(cause instanceof Error ? (cause.cause ?? cause) : cause) }
  tools.log({ admin: `${method} ${path.slice(0, 200)}`, status, client, by, ...error })
  if (cookies.length > 0) response.setHeader('set-cookie', cookies)
  answer(request, response, status, body)
}

/** A client that leaves ends the pieces. Once the head is sent, breaking off is the only honest error. */
async function sendPieces(response: ServerResponse, usual: string, given: StreamAnswer): Promise<void> {
  const { pieces, file, status = 200, type = usual, headers = {} } = given
  const named = file === undefined ? {} : { 'content-disposition': `attachment; filename="${file}"` }
  const safe = { 'x-content-type-options': 'nosniff', 'content-security-policy': "default-src 'none'; sandbox" }
  response.writeHead(status, { ...headers, 'content-type': type, 'cache-control': 'no-store', ...safe, ...named })
  response.flushHeaders()
  const source = Readable.from(pieces)
  await pipeline(source, response).catch(() => response.destroy())
  // Where the client had left before: newer versions of Node do not begin then.
  source.destroy()
}

/** Breaks a stream off when its session, or the key that opened it, holds no longer. */
function endWithout(stream: ServerResponse | Duplex, session: () => Session | 'key' | undefined): void {
  if (stream.destroyed) return
  const timer = setInterval(() => session() ?? stream.destroy(), LOOK_AGAIN_MS).unref()
  stream.once('close', () => clearInterval(timer))
}

/** A session of the console, where the plan has one. */
function sessionFor(
  { headers, socket }: Pick<IncomingMessage, 'headers' | 'socket'>,
  digest: string | undefined,
  { plan: { admin } }: AdminHost,
): Session | undefined {
  if (digest === undefined || admin?.console !== true) return undefined
  return sessionOf({ digest, oidc: admin.oidc }, headers, 'encrypted' in socket)
}

/**
 * A cookie alone reads. Changes need a header that no form and no other origin can send, and must come from our own page: cookies
 * do not know ports, so that another server of this host may have made the request.
 */
function checkSession({ headers }: IncomingMessage, route: AdminRoute, { role }: Session): void {
  const { origin, host } = headers
  const site = headers['sec-fetch-site']
  if (
    (site !== undefined && site !== 'same-origin' && site !== 'none') ||
    (origin !== undefined && !isOwn(origin, host))
  )
    throw new AdminError(403, 'forbidden', 'a page of another origin has sent this')
  if (route.method === 'GET') return
  if (headers['x-console'] !== '1') throw new AdminError(403, 'forbidden', 'the header x-console is missing')
  if (role === 'viewer' && route.isReading !== true)
    throw new AdminError(403, 'forbidden', 'this session may only look: sign in again to change something')
}

function isOwn(origin: string, host: string | undefined): boolean {
  return host !== undefined && (origin === `http://${host}` || origin === `https://${host}`)
}

function isOpen({ table, host }: AdminTools, method: string, path: string): boolean {
  return table.some(route => route.path === path && serves(route, method) && route.isOpen?.(host) === true)
}

/** The key alone, once, in the header alone; its digest is compared in constant time. */
function isAllowed({ headersDistinct }: IncomingMessage, digest: string | undefined): boolean {
  const [given = '', ...more] = headersDistinct.authorization ?? []
  const [, presented] = /^bearer +([\x21-\x7e]{1,512})$/i.exec(given) ?? []
  if (digest === undefined || presented === undefined || more.length > 0) return false
  return timingSafeEqual(hash('sha256', presented, 'buffer'), Buffer.from(digest, 'hex'))
}

/** `depth`: the deepest nesting, which is that of clients' requests. */
async function bodyOf(request: IncomingMessage, route: AdminRoute, depth: number): Promise<JsonObject> {
  const bytes = await bytesOf(request, route.maxBytes ?? MAX_BODY_BYTES)
  if (bytes.length === 0) {
    checkBody(route, {})
    return {}
  }
  if (route.body === undefined) throw new AdminError(400, 'invalid_request', 'this endpoint takes no body')
  if (costNow(bytes, bytes.length).depth > depth)
    throw new AdminError(400, 'invalid_request', `the body is nested deeper than ${depth} levels`)
  let given: unknown
  try {
    given = JSON.parse(bytes.toString('utf8'))
  } catch {
    throw new AdminError(400, 'invalid_request', 'the body is not JSON')
  }
  if (!isObject(given)) throw new AdminError(400, 'invalid_request', 'the body must be a JSON object')
  checkBody(route, given)
  return given
}

async function bytesOf(request: IncomingMessage, most: number): Promise<Buffer> {
  const tooLarge = new AdminError(413, 'too_large', `a body has at most ${most} bytes`)
  if (Number(request.headers['content-length']) > most) throw tooLarge
  const pieces: Buffer[] = []
  let size = 0
  try {
    // The answer still needs the connection of a request that is not read to its end.
    for await (const piece of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      size += piece.length
      if (size > most) throw tooLarge
      pieces.push(piece)
    }
  } catch (error) {
    throw error === tooLarge ? error : clientGone()
  }
  return Buffer.concat(pieces)
}

function errorOf(error: unknown): AdminError {
  if (error instanceof AdminError) return error
  if (error instanceof StoreError || (error instanceof GatewayError && error.code === 'unavailable'))
    return new AdminError(503, 'unavailable', 'the store cannot be used at the moment')
  return new AdminError(500, 'internal', 'the gateway failed; its log says why')
}

function answer(request: IncomingMessage, response: ServerResponse, status: number, body: unknown): void {
  const text = `${JSON.stringify(body)}\n`
  send(
    request,
    response,
    status,
    { type: 'application/json', text },
    {
      ...(status === 401 ? { 'www-authenticate': 'Bearer' } : {}),
      ...(status === 405 ? { allow: (body as { error: { allow: string[] } }).error.allow.join(', ') } : {}),
    },
  )
}

function send(
  request: IncomingMessage,
  response: ServerResponse,
  status: number,
  { type, text }: TextAnswer,
  headers: Readonly<Record<string, string>> = {},
): void {
  const bytes = Buffer.from(text)
  response.writeHead(status, {
    'content-type': type,
    'content-length': bytes.length,
    'cache-control': 'no-store',
    ...headers,
    // The rest of a body that is not read must not be taken for the next request.
    ...(request.complete ? {} : { connection: 'close' }),
  })
  response.end(bytes)
}
