import { randomBytes } from 'node:crypto'
import type { ClientRequest, IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { Duplex } from 'node:stream'
import { createProxyServer, type ProxyServer } from 'http-proxy-3'
import { acceptOf } from '../core/socket-key.js'

/** The opening handshake towards an upstream. */
export interface TunnelRequest {
  /** `https://host:port`. */
  readonly origin: string
  /** Path and query, as they go out. */
  readonly path: string
  /** Lower-case names. What the handshake itself needs is added. */
  readonly headers: Readonly<Record<string, string>>
}

/** Events of a tunnel, for its owner. */
export interface TunnelHandler {
  /** TCP and TLS are established. */
  connected(): void
  /** The upstream has agreed; false where the owner does not, and then the tunnel is gone. */
  opened(headers: IncomingHttpHeaders): boolean
  /** The upstream sent another answer. The owner must read or destroy it. */
  refused(answer: IncomingMessage): void
  /** The connection broke. After `opened` there is `ended` too. */
  failed(cause: Error): void
  /** Bytes from the upstream; false asks for a pause until {@link RawTunnel.more}. */
  data(bytes: Buffer): boolean
  /** The upstream has taken what was waiting. */
  drained(): void
  /** The upstream ended its side. */
  ended(): void
}

/** One for all tunnels; it keeps nothing of them. */
let proxy: ProxyServer | undefined
/** By the upstream's connection. */
const tunnels = new WeakMap<Duplex, RawTunnel>()

function proxyServer(): ProxyServer {
  if (proxy !== undefined) return proxy
  proxy = createProxyServer({ ignorePath: true })
  proxy.on('error', () => undefined)
  proxy.on('proxyReqWs', (request, _from, leg: Duplex) => {
    if (leg instanceof RawTunnel) leg.begin(request)
  })
  proxy.on('open', upstream => tunnels.get(upstream)?.piped())
  return proxy
}

/** Why an answer is none to the handshake with this key (RFC 6455 §4.1); no extension has been offered. */
function whatIsWrong(headers: IncomingHttpHeaders, key: string, offered = ''): string | undefined {
  if (headers['sec-websocket-accept'] !== acceptOf(key)) return 'not the answer to this handshake'
  if (headers['sec-websocket-extensions'] !== undefined) return 'an extension that was not offered'
  const chosen = headers['sec-websocket-protocol']
  if (chosen === undefined) return undefined
  if (chosen !== '' && offered.split(',').some(name => name.trim() === chosen)) return undefined
  return 'a subprotocol that was not offered'
}

/**
 * A WebSocket to an upstream whose bytes pass unchanged. The proxy library makes the handshake and TLS, and reports
 * the result; it takes this object for the client's socket. It never gets the client's real socket: it would write an
 * upstream's refusal straight to it, with every header, and pipe unchecked bytes. Once the upstream has accepted,
 * bytes go from socket to socket without the library's pipes, which would pass every byte through this stream again.
 */
export class RawTunnel extends Duplex {
  readonly #handshake: TunnelRequest
  readonly #handler: TunnelHandler
  readonly #key = randomBytes(16).toString('base64')
  #request: ClientRequest | undefined
  #upstream: Duplex | undefined
  #state: 'asking' | 'open' | 'refused' | 'over' = 'asking'

  constructor(request: TunnelRequest, handler: TunnelHandler) {
    super({ allowHalfOpen: true })
    this.#handshake = request
    this.#handler = handler
    this.on('error', () => undefined)
  }

  /** Asks the upstream. */
  open(): void {
    const { protocol, hostname, port, host } = new URL(this.#handshake.origin)
    const headers = {
      ...this.#handshake.headers,
      host,
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-version': '13',
      'sec-websocket-key': this.#key,
    }
    // As much of a request as the library reads: of the client's own nothing passes that is not in `headers`.
    const from = { method: 'GET', url: '/', httpVersion: '1.1', httpVersionMajor: 1, headers } as IncomingMessage
    const target = { protocol, hostname, port: port === '' ? (protocol === 'https:' ? '443' : '80') : port }
    proxyServer().ws(from, this as never, Buffer.alloc(0), { target: target as never }, error => this.broke(error))
  }

  /** Sends to the upstream. False if it is slower: continue after `drained`. */
  send(bytes: Buffer): boolean {
    return this.#upstream?.writable !== true || this.#upstream.write(bytes)
  }

  /** Ends the side to the upstream. */
  finish(): void {
    this.#upstream?.end()
  }

  /** The upstream's connection, once it has agreed. */
  get connection(): Duplex {
    return this.#upstream ?? this
  }

  /** Takes more of the upstream's bytes. */
  more(): void {
    this.#upstream?.resume()
  }

  /** Aborts in any state. */
  abort(): void {
    this.#state = 'over'
    this.#request?.destroy()
    this.#upstream?.destroy()
    this.destroy()
  }

  // ── what the library does

  begin(request: ClientRequest): void {
    this.#request = request
    // As it was built: the library would normalise it.
    request.path = this.#handshake.path
    request.once('socket', socket => {
      socket.once(this.#handshake.origin.startsWith('https:') ? 'secureConnect' : 'connect', () => {
        if (this.#state === 'asking') this.#handler.connected()
      })
    })
    request.once('upgrade', (answer, socket) => this.agreed(answer, socket))
    request.once('response', answer => {
      if (this.#state === 'asking') {
        this.#state = 'refused'
        this.#handler.refused(answer)
      } else answer.destroy()
    })
  }

  private agreed({ headers }: IncomingMessage, upstream: Duplex): void {
    this.#upstream = upstream
    tunnels.set(upstream, this)
    if (this.#state !== 'asking') {
      upstream.destroy()
      return
    }
    const wrong = whatIsWrong(headers, this.#key, this.#handshake.headers['sec-websocket-protocol'])
    if (wrong !== undefined) {
      this.#state = 'over'
      upstream.destroy()
      this.#handler.failed(Object.assign(new Error(wrong), { code: 'HPE_HANDSHAKE' }))
    } else {
      this.#state = 'open'
      if (!this.#handler.opened(headers)) this.abort()
    }
  }

  /** The library has put its pipes in place. */
  piped(): void {
    const upstream = this.#upstream
    if (upstream === undefined) return
    upstream.unpipe(this)
    this.unpipe(upstream as never)
    upstream.on('data', (bytes: Buffer) => {
      if (this.#state === 'open' && !this.#handler.data(bytes)) upstream.pause()
    })
    upstream.on('drain', () => this.#handler.drained())
    upstream.on('end', () => this.ended())
    upstream.on('close', () => this.ended())
    upstream.resume()
  }

  private ended(): void {
    if (this.#state !== 'open') return
    this.#state = 'over'
    this.#handler.ended()
  }

  private broke(error: Error): void {
    if (this.#state === 'over' || this.#state === 'refused') return
    const wasOpen = this.#state === 'open'
    if (!wasOpen) this.#state = 'over'
    this.#handler.failed(error)
    if (wasOpen) this.ended()
  }

  // ── what the library wants of a socket

  override _read(): void {}

  /** The head that it would answer the client with; the client has been answered. */
  override _write(_bytes: Buffer, _encoding: string, done: () => void): void {
    done()
  }

  setTimeout(): this {
    return this
  }

  setNoDelay(): this {
    return this
  }

  setKeepAlive(): this {
    return this
  }

  destroySoon(): void {
    // The library tries to end the client's socket, which is ended elsewhere.
  }
}
