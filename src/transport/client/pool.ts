import { loadParser } from '../llhttp.js'
import { IDLE_TIMES, type IdleTimes } from './answer-head.js'
import { Connection, type ConnectionSettings, Exchange } from './connection.js'
import { type ExchangeHandler, TransportFault, type UpstreamRequest } from './handler.js'
import { requestHead } from './request-head.js'
import type { SocketOptions } from './socket.js'

/** A connection that has not been used yet waits so long. */
const UNUSED_MS = 15_000
/** How old a connection may be when it gets another request: a host that moves is followed within this time. */
export const MAX_AGE_MS = 300_000
/** Idle connections are looked after so often. */
const SWEEP_MS = 1000

interface PoolOptions extends SocketOptions {
  readonly idle?: IdleTimes
  readonly ageMs?: number
}

/** A request whose body is at hand as a whole. */
type HeldRequest = UpstreamRequest & { readonly body: Uint8Array | null }

/**
 * Keep-alive connections to one origin over HTTP/1.1, one exchange at a time on each. How many there are at a time is the
 * caller's to decide. Redirects are not followed, bodies are not decoded, nothing is repeated.
 */
export class ClientPool {
  readonly #settings: ConnectionSettings
  readonly #host: string
  readonly #connections = new Set<Connection>()
  /** The one that was used last is used next, so that the others can expire. */
  readonly #idle: Connection[] = []
  /** To begin in this turn of the event loop. */
  #starting: Exchange[] = []
  /** Connections that are free as soon as their requests are taken. */
  readonly #answered: { readonly connection: Connection; readonly idleMs: number }[] = []
  /** `#start` runs behind this turn of the event loop. */
  #isComing = false
  #sweeper: NodeJS.Timeout | undefined
  readonly #onEmpty: (() => void)[] = []
  #isClosed = false

  /** `origin`: `https://host:port`. `connectTimeoutMs` is for TCP and TLS together. */
  constructor(origin: string, connectTimeoutMs: number, options: PoolOptions = {}) {
    loadParser()
    const url = new URL(origin)
    this.#settings = { idle: IDLE_TIMES, ageMs: MAX_AGE_MS, ...options, origin: url, connectTimeoutMs }
    this.#host = url.host
  }

  /**
   * Sends a request. It goes out after the poll phase of the event loop: what has arrived on idle connections by then, mostly
   * their ends, is seen before one of them is used.
   */
  send(request: HeldRequest, handler: ExchangeHandler): void {
    const { method, path, headers } = request
    const body = request.body === null || request.body.length === 0 ? null : request.body
    let head = ''
    try {
      if (this.#isClosed) throw closed()
      head = requestHead({ method, path, headers, length: body?.length, host: this.#host })
    } catch (cause) {
      handler.onResponseError(new Exchange(method, head, body, handler), cause as Error)
      return
    }
    this.#starting.push(new Exchange(method, head, body, handler))
    this.#soon()
  }

  #soon(): void {
    if (this.#isComing) return
    this.#isComing = true
    setImmediate(() => this.#start())
  }

  #start(): void {
    this.#isComing = false
    for (const { connection, idleMs } of this.#answered.splice(0)) connection.free(idleMs)
    const exchanges = this.#starting
    this.#starting = []
    for (const exchange of exchanges) {
      const connection = this.#takeIdle()
      if (connection === undefined) this.#connect(exchange)
      else connection.begin(exchange)
    }
    this.#settle()
  }

  #connect(exchange: Exchange): void {
    try {
      this.#connections.add(new Connection(this, this.#settings, exchange))
    } catch (cause) {
      exchange.handler.onResponseError(exchange, cause as Error)
    }
  }

  #takeIdle(): Connection | undefined {
    const now = performance.now()
    for (let one = this.#idle.pop(); one !== undefined; one = this.#idle.pop()) {
      if (one.isUsable && one.expires > now) return one
      one.destroy(expired())
    }
    return undefined
  }

  onFree(connection: Connection, idleMs = UNUSED_MS): void {
    if (this.#isClosed) {
      connection.destroy(closed())
      return
    }
    connection.expires = Math.min(performance.now() + idleMs, connection.retires)
    this.#idle.push(connection)
    this.#sweeper ??= setTimeout(() => this.#sweep(), SWEEP_MS).unref()
  }

  onAnswered(connection: Connection, idleMs: number): void {
    this.#answered.push({ connection, idleMs })
    this.#soon()
  }

  onClose(connection: Connection): void {
    this.#connections.delete(connection)
    const index = this.#idle.indexOf(connection)
    if (index >= 0) this.#idle.splice(index, 1)
    this.#settle()
  }

  /** Those who wait for the end of all exchanges hear of it. */
  #settle(): void {
    if (this.#connections.size > 0 || this.#starting.length > 0) return
    for (const settle of this.#onEmpty.splice(0)) settle()
  }

  #sweep(): void {
    const now = performance.now()
    for (const one of this.#idle) if (one.expires <= now) one.destroy(expired())
    this.#sweeper = this.#idle.length === 0 ? undefined : setTimeout(() => this.#sweep(), SWEEP_MS).unref()
  }

  /** Connections that are open, or being opened. */
  get size(): number {
    return this.#connections.size
  }

  /** Takes no more requests. Settles when all exchanges are over. */
  close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#sweeper)
    for (const one of this.#idle.splice(0)) one.destroy(closed())
    return this.#whenEmpty()
  }

  /** Breaks all exchanges off. */
  destroy(): Promise<void> {
    const ended = this.close()
    const reason = closed()
    for (const exchange of this.#starting.splice(0)) exchange.handler.onResponseError(exchange, reason)
    for (const one of [...this.#connections]) one.destroy(reason)
    this.#settle()
    return ended
  }

  #whenEmpty(): Promise<void> {
    return new Promise(resolve => {
      this.#onEmpty.push(resolve)
      this.#settle()
    })
  }
}

function closed(): TransportFault {
  return new TransportFault('CONNECTION_CLOSED', 'The connections to this upstream are being closed.')
}

function expired(): TransportFault {
  return new TransportFault('CONNECTION_CLOSED', 'The connection was idle for too long.')
}
