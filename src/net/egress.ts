import { createHash } from 'node:crypto'
import { isIP, connect as openTcp, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import {
  createSecureContext,
  connect as openTls,
  rootCertificates,
  type SecureContext,
  type SecureContextOptions,
} from 'node:tls'
import type { EgressConfig } from '../core/egress.js'
import { TransportFault } from '../transport/client/handler.js'
import type { SocketOptions } from '../transport/client/socket.js'
import { names } from './names.js'
import { connectThrough, hostOf, ProxyFault, proxyFor } from './proxy.js'
import { pinned, type ResolvedAddress } from './resolve.js'

/** Bytes that a socket holds at most before it stops to read, beside one read. */
const READ_AHEAD_BYTES = 16 * 1024
const TCP_KEEP_ALIVE_MS = 30_000

/** One connection to be opened. */
interface Leaving {
  readonly url: URL
  /** For the proxy, TCP and TLS together. */
  readonly timeoutMs: number
  /** Names of protocols (ALPN), the best first. */
  readonly protocols?: readonly string[]
  /** A host that is not the upstream's own: it gets no client certificate. The connection goes to these addresses. */
  readonly addresses?: readonly ResolvedAddress[]
  /** A server beside the upstream, such as one for its tokens: it is shown the certificate, and has a name and authorities of its own. */
  readonly isBeside?: true
  /** The connection opens with any certificate: for reading that, never for requests. */
  readonly isInspection?: true
}

type Opened = (error: Error | null, socket: Socket | null) => void

/** How connections leave for one upstream: through a proxy, with its authorities and the gateway's certificate. */
export class Egress {
  readonly #config: EgressConfig
  /** Of everything that decides how connections leave, secrets included: never shown. */
  readonly digest: string
  #own: SocketOptions | undefined
  #others: SecureContext | undefined
  #beside: SecureContext | undefined

  constructor(config: EgressConfig) {
    this.#config = config
    this.digest = digestOf(config)
  }

  get http2(): boolean {
    return this.#config.http2 === true
  }

  get pool(): EgressConfig['pool'] {
    return this.#config.pool
  }

  /** Whether connections to this address go through a proxy. */
  isProxied(url: URL): boolean {
    return proxyFor(this.#config.proxy, url) !== undefined
  }

  /** TLS with the upstream itself. */
  get secure(): SocketOptions {
    this.#own ??= secureOf(this.#config)
    return this.#own
  }

  /** Opens a connection, TLS included. The way to give it up is returned; `done` is not called after it. */
  open(leaving: Leaving, done: Opened): () => void {
    const { url, addresses } = leaving
    const proxy = proxyFor(this.#config.proxy, url)
    const stage: { isOver: boolean; giveUp: () => void; isTunnelled: boolean } = {
      isOver: false,
      giveUp: () => undefined,
      isTunnelled: proxy === undefined,
    }
    const finish: Opened = (error, socket) => {
      if (stage.isOver) {
        socket?.destroy()
        return
      }
      stage.isOver = true
      clearTimeout(timer)
      if (error !== null) stage.giveUp()
      done(error, socket)
    }
    const timer = setTimeout(() => finish(timedOut(stage.isTunnelled), null), leaving.timeoutMs)
    const secured = (raw: Socket | undefined): void => {
      const socket = this.#socket(leaving, raw)
      stage.giveUp = () => socket.destroy()
      socket.once(isSecure(url) ? 'secureConnect' : 'connect', () => finish(null, socket))
      socket.on('error', cause => finish(cause, null))
      socket.on('close', () => finish(closedEarly(), null))
      if (raw === socket) finish(null, socket)
    }
    if (proxy === undefined) secured(undefined)
    else {
      const secureContext = this.#forOthers()
      const authority = authorityOf(url, addresses?.[0]?.address)
      stage.giveUp = connectThrough(proxy, { authority, secureContext, lookup: names.lookup }, (error, tunnel) => {
        if (error !== null) finish(error, null)
        else if (stage.isOver) tunnel?.destroy()
        else {
          stage.isTunnelled = true
          secured(tunnel as Socket)
        }
      })
    }
    return () => {
      if (stage.isOver) return
      stage.isOver = true
      clearTimeout(timer)
      stage.giveUp()
    }
  }

  /** `raw`: the connection that the proxy has made. */
  #socket(leaving: Leaving, raw: Socket | undefined): Socket {
    const { url, addresses, isInspection } = leaving
    const host = hostOf(url)
    const place = { host, port: Number(url.port) || (isSecure(url) ? 443 : 80) }
    const lookup = addresses === undefined ? names.lookup : pinned(addresses)
    const way = raw === undefined ? { lookup, autoSelectFamily: true } : { socket: raw }
    const options = { ...place, ...way, highWaterMark: READ_AHEAD_BYTES }
    const socket = isSecure(url)
      ? this.#tls(isInspection ? { ...options, rejectUnauthorized: false } : options, host, leaving)
      : (raw ?? openTcp(options))
    socket.setNoDelay(true)
    socket.setKeepAlive(true, this.#config.pool.tcpKeepAlive ?? TCP_KEEP_ALIVE_MS)
    return socket
  }

  #tls(options: object, host: string, { addresses, isBeside, protocols = ['http/1.1'] }: Leaving): Socket {
    const isOwn = addresses === undefined && isBeside !== true
    const secureContext = isOwn ? this.secure.secureContext : isBeside ? this.#forBeside() : this.#forOthers()
    return openTls({
      ...options,
      ALPNProtocols: [...protocols],
      servername: (isOwn ? this.secure.servername : undefined) ?? (isIP(host) === 0 ? host : ''),
      ...(secureContext === undefined ? {} : { secureContext }),
    })
  }

  /** For hosts that are not the upstream: its authorities beside the usual ones. Undefined: as Node has it. */
  #forOthers(): SecureContext | undefined {
    this.#others ??= contextOf(moreAuthorities(this.#config))
    return this.#others
  }

  #forBeside(): SecureContext | undefined {
    const { certificate, key } = this.#config.tls ?? {}
    this.#beside ??= contextOf({
      ...moreAuthorities(this.#config),
      ...(certificate === undefined ? {} : { cert: certificate.content.reveal() }),
      ...(key === undefined ? {} : { key: key.content.reveal() }),
    })
    return this.#beside
  }
}

/** Undefined: nothing is said. */
function contextOf(options: SecureContextOptions): SecureContext | undefined {
  return Object.keys(options).length === 0 ? undefined : createSecureContext(options)
}

function moreAuthorities({ tls }: EgressConfig): SecureContextOptions {
  const { ca, minVersion } = tls ?? {}
  return {
    ...(ca === undefined ? {} : { ca: [...rootCertificates, ca.content.reveal()] }),
    ...(minVersion === undefined ? {} : { minVersion }),
  }
}

function secureOf({ tls, pool }: EgressConfig): SocketOptions {
  const { ca, certificate, key, minVersion, serverName } = tls ?? {}
  const context = {
    ...(ca === undefined ? {} : { ca: ca.content.reveal() }),
    ...(certificate === undefined ? {} : { cert: certificate.content.reveal() }),
    ...(key === undefined ? {} : { key: key.content.reveal() }),
    ...(minVersion === undefined ? {} : { minVersion }),
  }
  const secureContext = contextOf(context)
  return {
    ...(secureContext === undefined ? {} : { secureContext }),
    ...(serverName === undefined ? {} : { servername: serverName }),
    ...(pool.tcpKeepAlive === undefined ? {} : { tcpKeepAliveMs: pool.tcpKeepAlive }),
  }
}

function isSecure({ protocol }: URL): boolean {
  return protocol === 'https:'
}

function authorityOf(url: URL, address: string | undefined): string {
  const host = address ?? hostOf(url)
  return `${isIP(host) === 6 ? `[${host}]` : host}:${url.port || (isSecure(url) ? 443 : 80)}`
}

function timedOut(isTunnelled: boolean): Error {
  if (!isTunnelled) return new ProxyFault('the proxy did not answer in time', { isTimeout: true })
  return new TransportFault('CONNECT_TIMEOUT', 'The upstream did not accept a connection in time.')
}

function closedEarly(): Error {
  return new TransportFault('CONNECTION_CLOSED', 'The upstream closed the connection.')
}

function digestOf(config: EgressConfig): string {
  const { proxy, tls } = config
  const secrets = [
    proxy?.https?.password,
    proxy?.http?.password,
    tls?.ca?.content,
    tls?.certificate?.content,
    tls?.key?.content,
  ].map(one => one?.reveal())
  return createHash('sha256')
    .update(JSON.stringify([config, secrets]))
    .digest('hex')
}

/** For `createConnection` of `node:http` and its like: the connection is ready when it is handed over. `beside`: not to the upstream. */
export function createConnection(
  egress: Egress,
  url: URL,
  timeoutMs: number,
  beside?: 'beside',
): (options: unknown, done: (error: Error | null, socket: Duplex) => void) => undefined {
  return (_options, done) => {
    const leaving = { url, timeoutMs, ...(beside === undefined ? {} : { isBeside: true as const }) }
    egress.open(leaving, (error, socket) => done(error, socket as Duplex))
    return undefined
  }
}
