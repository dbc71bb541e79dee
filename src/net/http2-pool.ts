import { type ClientHttp2Session, connect } from 'node:http2'
import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { type ExchangeHandler, TransportFault, type UpstreamRequest } from '../transport/client/handler.js'
import type { Egress } from './egress.js'
import { Http2Exchange } from './http2-exchange.js'
import { Http2Silence } from './http2-silence.js'

interface Http2Settings {
  readonly origin: URL
  readonly egress: Egress
  /** For the proxy, TCP and TLS together, milliseconds. */
  readonly connectMs: number
  /** How long a connection without a request stays open, and how old it may be when it gets another one, milliseconds. */
  readonly idleMs: number
  readonly ageMs: number
  /** Sends what the upstream does not take by HTTP/2. */
  readonly byHttp1: (request: UpstreamRequest, handler: ExchangeHandler) => void
}

/** Most streams of one connection, unless the upstream allows fewer. */
const MAX_STREAMS = 100
/** Bytes of one answer that the upstream may send before they are read. */
const WINDOW_BYTES = 256 * 1024
/**
 * Node's bound of what a session holds counts bodies that wait to be sent, also those given up since, and refuses answers over
 * it. Bodies are bounded elsewhere, what is received by its windows: so this is never reached.
 */
const MAX_SESSION_MEGABYTES = 1_000_000
const SWEEP_MS = 1000
/** Connections that were opened together end apart: up to this share before their time. */
const AGE_SPREAD = 0.1

/** A connection, with the requests that wait for it while it opens. */
interface Link {
  session: ClientHttp2Session | undefined
  silence: Http2Silence | undefined
  giveUp: () => void
  readonly waiting: Http2Exchange[]
  streams: number
  /** When it gets no further request, by `performance.now()`. */
  retires: number
  idleSince: number
}

/**
 * Connections of HTTP/2 to one origin that requests share. How many requests there are at a time is the caller's to decide.
 * A request that a connection takes with it ends with an error. An upstream that says goodbye (GOAWAY) gets no further request
 * there and answers those that it has; those that it refuses go to another connection. Nothing else is repeated. (The library's
 * client breaks off at a goodbye what is under way, and sends it again.)
 */
export class Http2Pool {
  readonly #settings: Http2Settings
  readonly #links = new Set<Link>()
  #sweeper: NodeJS.Timeout | undefined
  /** The upstream does not speak HTTP/2: it is asked again after this time, by `performance.now()`. */
  #http1Until = 0
  /** How many streams the upstream allowed on its last connection: as many requests wait for one that opens. */
  #streams = MAX_STREAMS
  #isClosed = false
  readonly #onEmpty: (() => void)[] = []

  constructor(settings: Http2Settings) {
    this.#settings = settings
  }

  send(request: UpstreamRequest, handler: ExchangeHandler): void {
    const exchange = new Http2Exchange(request, handler)
    if (this.#isClosed) exchange.fail(closed())
    else this.#place(exchange)
  }

  #place(exchange: Http2Exchange): void {
    const now = performance.now()
    if (now < this.#http1Until) {
      this.#settings.byHttp1(exchange.request, exchange.handler)
      return
    }
    const link = this.#linkWithRoom(now) ?? this.#open(now)
    if (link.session === undefined) link.waiting.push(exchange)
    else this.#begin(link, link.session, exchange)
  }

  #linkWithRoom(now: number): Link | undefined {
    for (const link of this.#links) {
      const { session, silence, streams, waiting, retires } = link
      const most = Math.min(session?.remoteSettings.maxConcurrentStreams ?? this.#streams, MAX_STREAMS)
      const isOpen = session === undefined || !(session.closed || session.destroyed || silence?.isDoubted)
      if (isOpen && retires > now && streams + waiting.length < most) return link
    }
    return undefined
  }

  #begin(link: Link, session: ClientHttp2Session, exchange: Http2Exchange): void {
    link.streams++
    let received = -1
    exchange.onFailure = () => {
      if (link.silence?.received === received) link.silence.doubt()
    }
    exchange.onEnd = isRefused => {
      link.streams--
      link.idleSince = performance.now()
      if (isRefused) {
        link.retires = link.idleSince
        this.#place(exchange)
      }
      if (link.streams === 0 && this.#isClosed) session.close()
    }
    exchange.begin(session, this.#settings.origin)
    received = link.silence?.received ?? received
  }

  #open(now: number): Link {
    const { origin, egress, connectMs, ageMs } = this.#settings
    const link: Link = {
      session: undefined,
      silence: undefined,
      giveUp: () => undefined,
      waiting: [],
      streams: 0,
      retires: now + ageMs * (1 - Math.random() * AGE_SPREAD),
      idleSince: now,
    }
    this.#links.add(link)
    this.#sweeper ??= setInterval(() => this.#sweep(), SWEEP_MS).unref()
    const leaving = { url: origin, timeoutMs: connectMs, protocols: ['h2', 'http/1.1'] }
    link.giveUp = egress.open(leaving, (error, socket) => {
      if (socket !== null && (socket as TLSSocket).alpnProtocol === 'h2') this.#start(link, socket)
      else this.#withoutHttp2(link, error, socket)
    })
    return link
  }

  /** Requests go out when the upstream has said how many streams it takes. */
  #start(link: Link, socket: Socket): void {
    const { origin, connectMs } = this.#settings
    const settings = { initialWindowSize: WINDOW_BYTES, enablePush: false }
    const maxSessionMemory = MAX_SESSION_MEGABYTES
    const session = connect(origin, { createConnection: () => socket, settings, maxSessionMemory })
    link.giveUp = () => {
      session.destroy()
      // A session that was closed before would wait for the other side's end.
      socket.destroy()
    }
    const timer = setTimeout(link.giveUp, connectMs)
    // Its streams hear of it, too.
    session.on('error', () => undefined)
    session.once('remoteSettings', () => {
      clearTimeout(timer)
      const { maxConcurrentStreams = MAX_STREAMS } = session.remoteSettings
      // Further connections would not take them either.
      if (maxConcurrentStreams === 0) {
        this.#remove(link, noStreams())
        session.destroy()
        return
      }
      this.#streams = maxConcurrentStreams
      link.session = session
      link.silence = new Http2Silence(session, socket)
      for (const one of link.waiting.splice(0)) this.#place(one)
    })
    session.on('close', () => {
      clearTimeout(timer)
      this.#remove(link, lost())
    })
  }

  #withoutHttp2(link: Link, error: Error | null, socket: Socket | null): void {
    socket?.destroy()
    if (error === null) this.#http1Until = performance.now() + this.#settings.ageMs
    const waiting = error === null ? link.waiting.splice(0) : []
    this.#remove(link, error ?? lost())
    for (const one of waiting) this.#settings.byHttp1(one.request, one.handler)
  }

  #remove(link: Link, reason: Error): void {
    this.#links.delete(link)
    for (const one of link.waiting.splice(0)) one.fail(reason)
    if (this.#links.size > 0) return
    clearInterval(this.#sweeper)
    this.#sweeper = undefined
    for (const settle of this.#onEmpty.splice(0)) settle()
  }

  #sweep(): void {
    const now = performance.now()
    for (const { session, silence, streams, idleSince, retires } of this.#links) {
      silence?.sweep(streams > 0)
      const isDone = retires <= now || now - idleSince > this.#settings.idleMs
      if (session !== undefined && streams === 0 && isDone) session.close()
    }
  }

  /** Takes no more requests. Settles when all exchanges are over. */
  close(): Promise<void> {
    this.#isClosed = true
    for (const link of [...this.#links]) {
      if (link.session !== undefined) link.session.close()
      else if (link.waiting.length === 0) this.#giveUp(link)
    }
    return new Promise(resolve => {
      if (this.#links.size === 0) resolve()
      else this.#onEmpty.push(resolve)
    })
  }

  /** Breaks all exchanges off. */
  destroy(): Promise<void> {
    const ended = this.close()
    for (const link of [...this.#links]) this.#giveUp(link)
    return ended
  }

  #giveUp(link: Link): void {
    link.giveUp()
    if (link.session === undefined) this.#remove(link, closed())
  }
}

function closed(): TransportFault {
  return new TransportFault('CONNECTION_CLOSED', 'The connections to this upstream are being closed.')
}

function lost(): TransportFault {
  return new TransportFault('CONNECTION_CLOSED', 'The upstream closed the connection.')
}

function noStreams(): TransportFault {
  return new TransportFault('CONNECTION_CLOSED', 'The upstream allows no streams on its connections.')
}
