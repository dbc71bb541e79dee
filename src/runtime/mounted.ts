import { type IncomingMessage, request as open, type RequestOptions, type ServerResponse } from 'node:http'
import { connect } from 'node:net'
import { type Duplex, Readable } from 'node:stream'
import { headersWithout } from '../core/header-list.js'

/** A gateway as other servers reach it; it may listen on loopback, at any port. */
interface Mountable {
  readonly origin: string
}

export interface MountOptions {
  /** The path under which the gateway is mounted, `/ai`: it is removed. Absent: paths are the gateway's own. */
  readonly prefix?: string
}

/** Headers of one connection, RFC 9110 §7.6.1; and `expect`, which the outer server has answered. */
const OF_THE_CONNECTION = /^(connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|expect)$/i
/** Statuses whose answers have no body, as `Response` wants to know. */
const WITHOUT_BODY = new Set([204, 205, 304])

/**
 * A handler for servers that speak `(request, response)`: `node:http`, Express, Connect, and Fastify's `raw` ones. Bodies stream in
 * both directions, so no parser of bodies may come before it.
 */
export function toNode(gateway: Mountable, options: MountOptions = {}) {
  return (request: IncomingMessage, response: ServerResponse): void => {
    const { method, rawHeaders, socket } = request
    const headers = [...kept(rawHeaders), 'x-forwarded-for', socket.remoteAddress ?? '']
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
export function toFetch(gateway: Mountable, options: MountOptions = {}) {
  return (request: Request): Promise<Response> => {
    const { pathname, search } = new URL(request.url)
    const { method, signal } = request
    const headers = kept([...request.headers].flat())
    return new Promise((resolve, reject) => {
      const outgoing = open(at(gateway, pathname + search, options), { method, headers, signal } as RequestOptions)
      outgoing.once('error', reject)
      outgoing.once('response', answer => resolve(responseOf(answer)))
      if (request.body === null) outgoing.end()
      else Readable.fromWeb(request.body).once('error', reject).pipe(outgoing)
    })
  }
}

/** A listener of a server's `upgrade` event, for WebSockets such as realtime. */
export function toUpgrade(gateway: Mountable, options: MountOptions = {}) {
  return (request: IncomingMessage, socket: Duplex, head: Buffer): void => {
    const { hostname, port, pathname, search } = new URL(at(gateway, request.url ?? '/', options))
    const lines = [`${request.method} ${pathname}${search} HTTP/1.1`]
    const { rawHeaders } = request
    for (let index = 0; index + 1 < rawHeaders.length; index += 2)
      lines.push(`${rawHeaders[index]}: ${rawHeaders[index + 1]}`)
    const inner = connect(Number(port), hostname.replace(/^\[|\]$/g, ''))
    inner.write(`${lines.join('\r\n')}\r\n\r\n`, 'latin1')
    inner.write(head)
    for (const [one, other] of [
      [socket, inner],
      [inner, socket],
    ] as const) {
      one.on('error', () => other.destroy()).once('close', () => other.destroy())
      one.pipe(other)
    }
  }
}

function at({ origin }: Mountable, url: string, { prefix = '' }: MountOptions): string {
  const path = prefix !== '' && url.startsWith(prefix) ? url.slice(prefix.length) : url
  return origin + (path.startsWith('/') ? path : `/${path}`)
}

/** Names and values in turn, without those of the connection. */
function kept(raw: readonly string[]): readonly string[] {
  return headersWithout(raw, name => OF_THE_CONNECTION.test(name))
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
