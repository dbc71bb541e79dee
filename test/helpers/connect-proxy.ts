import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import { type AddressInfo, connect } from 'node:net'
import type { Duplex } from 'node:stream'
import type t from 'tap'
import type { Pair } from './authority.js'
import { Journal } from './journal.js'

type Test = Pick<typeof t, 'teardown'>

interface Asked {
  /** `host:port` of CONNECT. */
  readonly authority: string
  readonly authorization: string | undefined
  readonly method: string
}

interface Options {
  /** What it does: connects, says a status, or nothing at all. */
  readonly answer?: number | 'connect' | 'hang'
  /** It speaks TLS itself. */
  readonly tls?: Pair
  /** Where it really connects to. */
  readonly to?: (authority: string) => { readonly host: string; readonly port: number }
}

export interface ConnectProxy {
  readonly port: number
  readonly origin: string
  readonly asked: Journal<Asked>
  /** What it does from now on. */
  answer: number | 'connect' | 'hang'
}

/** An HTTP proxy that knows CONNECT, and notes what it was asked. */
export async function startConnectProxy(test: Test, options: Options = {}): Promise<ConnectProxy> {
  const { tls } = options
  const server: Server = tls === undefined ? createServer() : createSecureServer(tls)
  const asked = new Journal<Asked>('proxy requests')
  const open = new Set<Duplex>()
  const proxy = { answer: options.answer ?? 'connect' }
  const note = (request: IncomingMessage): void => {
    const { method = '', url: authority = '', headers } = request
    asked.push({ authority, method, authorization: headers['proxy-authorization'] })
  }
  server.on('connection', (socket: Duplex) => {
    open.add(socket)
    socket.on('close', () => open.delete(socket))
  })
  server.on('request', (request, response) => {
    note(request)
    response.writeHead(405).end()
  })
  server.on('connect', (request: IncomingMessage, client: Duplex) => {
    note(request)
    client.on('error', () => undefined)
    if (proxy.answer === 'hang') return
    if (proxy.answer !== 'connect') {
      client.end(`HTTP/1.1 ${proxy.answer} Refused\r\ncontent-length: 6\r\n\r\nsecret`)
      return
    }
    const authority = request.url ?? ''
    const [, host = '', port = ''] = /^\[?(.*?)\]?:(\d+)$/.exec(authority) ?? []
    const upstream = connect(options.to?.(authority) ?? { host, port: Number(port) }, () => {
      client.write('HTTP/1.1 200 Connection established\r\n\r\n')
      upstream.pipe(client).pipe(upstream)
    })
    open.add(upstream)
    upstream.on('close', () => client.destroy())
    upstream.on('error', () => client.end('HTTP/1.1 502 Bad Gateway\r\n\r\n'))
    client.on('close', () => upstream.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  test.teardown(() => {
    for (const socket of open) socket.destroy()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return Object.assign(proxy, { port, origin: `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}`, asked })
}
