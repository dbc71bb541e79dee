import { type IncomingMessage, request as open, type RequestOptions, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { type Duplex, Readable } from 'node:stream'
import { CONNECTION_HEADERS } from '../core/connection-headers.js'
import { headersWithout } from '../core/header-list.js'
import { serveInPlace, wantsSocket } from '../transport/serve-in-place.js'

/** A gateway as other servers reach it; it may listen on loopback, at any port. */
interface Mountable {
  readonly origin: string
}

export interface MountOptions {
  /** The path under which the gateway is mounted, `/ai`: it is removed. Absent: paths are the gateway's own. */
  readonly prefix?: string
}

export interface FetchOptions extends MountOptions {
  /** The address of a request's client, which a `Request` does not have. Absent: the gateway learns of none. */
  readonly address?: (request: Request) => string | undefined
}

/** What is for the outer server beside headers of the connection; it has answered `expect`. */
const OF_THE_SERVER = /^(proxy-.*|expect)$/i
/** How long a refused client may take to close. */
const LINGER_MS = 1000
const FORWARDED_FOR = /^x-forwarded-for$/i
/** Statuses whose answers have no body, as `Response` wants to know. */
const WITHOUT_BODY = new Set([204, 205, 304])

/**
 * A handler for servers that speak `(request, response)`: `node:http`, Express, Connect, and Fastify's `raw` ones. Bodies stream in
 * both directions, so no parser of bodies may come before it.
 */
export function toNode(gateway: Mountable, options: MountOptions = {}) {
  expectPlain(gateway)
  return (request: IncomingMessage, response: ServerResponse): void => {
    const { method, rawHeaders } = request
    const isChunked = request.headers['transfer-encoding'] !== undefined
    const headers = [...kept(rawHeaders), ...framing(isChunked), ...clientOf(request)]
    const outgoing = open(at(gateway, request.url ?? '/', options), { method, headers } as RequestOptions)
    response.once('close', () => outgoing.destroy())
    outgoing.once('response', answer => {
      response.writeHead(answer.statusCode ?? 502, [...kept(answer.rawHeaders)])
      answer.once('error', () => response.destroy())
      answer.pipe(response)
    })
    outgoing.once('error', () => {
      if (response.headersSent) response.destroy()
      else response.writeHead(502).end()
    })
    request.once('error', () => outgoing.destroy())
    request.pipe(outgoing)
  }
}

/** A handler of `fetch`: Hono, Next.js, Bun and everything else that takes a `Request` and returns a `Response`. */
export function toFetch(gateway: Mountable, options: FetchOptions = {}) {
  expectPlain(gateway)
  return (request: Request): Promise<Response> => {
    const { pathname, search } = new URL(request.url)
    const { method, signal, body } = request
    const address = options.address?.(request)
    const headers = [
      // What the client says of its address is not known to be so.
      ...headersWithout(kept([...request.headers].flat()), name => FORWARDED_FOR.test(name)),
      ...framing(body !== null && !request.headers.has('content-length')),
      ...(address === undefined ? [] : ['x-forwarded-for', address]),
    ]
    return new Promise((resolve, reject) => {
      const outgoing = open(at(gateway, pathname + search, options), { method, headers, signal } as RequestOptions)
      outgoing.once('error', reject)
      outgoing.once('response', answer => resolve(responseOf(answer)))
      if (body === null) outgoing.end()
      else
        Readable.fromWeb(body)
          .once('error', cause => outgoing.destroy(cause))
          .pipe(outgoing)
    })
  }
}

/**
 * A listener of a server's `upgrade` event, for WebSockets such as realtime. Nothing of a client whose handshake is refused reaches
 * the gateway afterwards: requests are for the outer server.
 */
export function toUpgrade(gateway: Mountable, options: MountOptions = {}) {
  expectPlain(gateway)
  return (request: IncomingMessage, socket: Duplex, head: Buffer): void => {
    const { server } = request.socket as Socket & { readonly server?: Server }
    // A listener of the app's own has a WebSocket for elsewhere.
    const hasOthers = (server?.listenerCount('upgrade') ?? 0) > 1
    if (hasOthers && wantsSocket(request) && !isBelow(request.url ?? '/', options)) return
    if (!wantsSocket(request)) {
      // Some clients offer HTTP/2 in every first request: the server serves it as any other.
      if (server === undefined) socket.destroy()
      else serveInPlace(server, request, socket, head)
      return
    }
    const own = headersWithout(kept(request.rawHeaders), name => name.toLowerCase() === 'content-length')
    const upgrade = ['connection', 'upgrade', 'upgrade', 'websocket']
    const headers = [...own, ...upgrade, ...clientOf(request)]
    const outgoing = open(at(gateway, request.url ?? '/', options), { headers } as RequestOptions)
    socket.once('error', () => outgoing.destroy()).once('close', () => outgoing.destroy())
    outgoing.once('error', () => socket.destroy())
    outgoing.once('response', answer => {
      socket.write(headOf(answer, [...kept(answer.rawHeaders), 'connection', 'close']), 'latin1')
      answer.once('error', () => socket.destroy())
      answer.pipe(socket)
      // The client is left time to read it, and no more: no time limit of a server holds for the socket any longer.
      socket.resume()
      socket.once('finish', () => setTimeout(() => socket.destroy(), LINGER_MS).unref())
    })
    outgoing.once('upgrade', (answer, inner, first) => {
      socket.write(headOf(answer, answer.rawHeaders), 'latin1')
      socket.write(first)
      inner.write(head)
      for (const [one, other] of [
        [socket, inner],
        [inner, socket],
      ] as const) {
        one.on('error', () => other.destroy()).once('close', () => other.destroy())
        one.pipe(other)
      }
    })
    outgoing.end()
  }
}

/** Of a body whose length is not known. Without it Node sends that of a `GET` or `DELETE` so that it would be taken for a request. */
function framing(isChunked: boolean): readonly string[] {
  return isChunked ? ['transfer-encoding', 'chunked'] : []
}

/** Behind what the client has said of its address: proxies in front of it may have. */
function clientOf({ socket }: IncomingMessage): readonly string[] {
  return ['x-forwarded-for', socket.remoteAddress ?? '']
}

function headOf({ statusCode, statusMessage }: IncomingMessage, headers: readonly string[]): string {
  const lines = [`HTTP/1.1 ${statusCode} ${statusMessage}`]
  for (let index = 0; index + 1 < headers.length; index += 2) lines.push(`${headers[index]}: ${headers[index + 1]}`)
  return `${lines.join('\r\n')}\r\n\r\n`
}

/** Its certificate is not for the address by which the outer server reaches it. */
function expectPlain({ origin }: Mountable): void {
  if (!origin.startsWith('http:'))
    throw new TypeError('a gateway with listen.tls cannot be mounted: the server around it has TLS')
}

function baseOf({ prefix = '' }: MountOptions): string {
  return prefix.replace(/\/$/, '')
}

function isBelow(url: string, options: MountOptions): boolean {
  const base = baseOf(options)
  return url.startsWith(base) && /^(?:[/?]|$)/.test(url.slice(base.length))
}

function at({ origin }: Mountable, url: string, options: MountOptions): string {
  const path = isBelow(url, options) ? url.slice(baseOf(options).length) : url
  return origin + (path.startsWith('/') ? path : `/${path}`)
}

/** Names and values in turn, without those of the connection. */
function kept(raw: readonly string[]): readonly string[] {
  return headersWithout(raw, name => OF_THE_SERVER.test(name) || CONNECTION_HEADERS.has(name.toLowerCase()))
}

function responseOf(answer: IncomingMessage): Response {
  const status = answer.statusCode ?? 502
  const headers = new Headers()
  const raw = kept(answer.rawHeaders)
  for (let index = 0; index + 1 < raw.length; index += 2) headers.append(raw[index] ?? '', raw[index + 1] ?? '')
  if (!WITHOUT_BODY.has(status)) return new Response(Readable.toWeb(answer) as ReadableStream, { status, headers })
  answer.resume()
  return new Response(null, { status, headers })
}
