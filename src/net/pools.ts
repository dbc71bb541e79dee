import type { Readable } from 'node:stream'
import type { Dispatcher } from 'undici'
import type { TransportName } from '../core/config.js'
import { FairQueue } from '../core/fair-queue.js'
import type {
  AnswerHeaders,
  ExchangeHandler,
  UpstreamController,
  UpstreamRequest,
} from '../transport/client/handler.js'
import { ClientPool } from '../transport/client/pool.js'
import { Pool } from './undici.js'

export type { UpstreamController, UpstreamRequest } from '../transport/client/handler.js'

export interface PoolSettings {
  /** The upstream's name: two upstreams at one origin do not take each other's connections. */
  readonly upstream: string
  /** `https://host:port`. */
  readonly origin: string
  readonly connections: number
  /** Requests that may wait for a connection. */
  readonly queue: number
  /** Milliseconds for TCP and TLS. */
  readonly connect: number
}

/** What one request hears of its connection. */
export interface UpstreamHandler extends ExchangeHandler {
  /** Name of the caller's key: connections are shared fairly among keys. */
  readonly key: string
  /** The wait for a connection is over. Not called where one was free. */
  onPlace(): void
}
/** `full`: too many requests wait already. */
export type Dispatched = 'sent' | 'waiting' | 'full'

/** How long an idle upstream connection stays open, milliseconds. Servers may ask for less by their `keep-alive` header. */
const KEEP_ALIVE_MS = 15_000
/** A larger response head is an error of the upstream. */
const MAX_HEAD_BYTES = 64 * 1024

/** Bytes of an answer that its socket holds at most before it stops to read, beside one read. An option of `net.connect`. */
const READ_AHEAD = { highWaterMark: 16 * 1024 }

interface Waiter {
  readonly request: UpstreamRequest
  readonly handler: UpstreamHandler
}

/** Keep-alive connections to one upstream. Redirects are not followed, bodies are not decoded, nothing is cached. */
export class UpstreamPool {
  readonly #settings: PoolSettings
  readonly #transport: TransportName
  readonly #client: ClientPool
  /** For bodies that are streams. Its connections count among the same places. */
  #library: Pool | undefined
  /** The library's own queue stays empty but for the moment between two requests of a connection. */
  readonly #queue: FairQueue<Waiter>

  constructor(settings: PoolSettings, transport: TransportName) {
    this.#queue = new FairQueue<Waiter>(settings.connections, settings.queue, ({ request, handler }) => {
      handler.onPlace()
      this.send(request, handler)
    })
    this.#settings = settings
    this.#transport = transport
    // The kernel's watchdog keeps the exact times; this only frees a socket that hangs in its handshake.
    this.#client = new ClientPool(settings.origin, settings.connect + 1000)
  }

  /** Requests that wait for a connection. */
  get waiting(): number {
    return this.#queue.waiting
  }

  /**
   * Sends a request, now or once a connection is free for its key. What is sent is paid back by one `finished`; what
   * waits may be withdrawn until `onPlace`.
   */
  dispatch(request: UpstreamRequest, handler: UpstreamHandler): Dispatched {
    if (this.#queue.take(handler.key)) {
      this.send(request, handler)
      return 'sent'
    }
    return this.#queue.wait(handler.key, { request, handler }) ? 'waiting' : 'full'
  }

  /** The exchange of a request that was sent is over. */
  finished(key: string): void {
    this.#queue.release(key)
  }

  /** The request stops waiting. */
  withdraw(handler: UpstreamHandler): void {
    this.#queue.withdraw(handler.key, waiter => waiter.handler === handler)
  }

  private send(request: UpstreamRequest, handler: UpstreamHandler): void {
    const { method, path, headers, body } = request
    if (this.#transport === 'fast' && isHeld(body)) this.#client.send({ method, path, headers, body }, handler)
    else dispatchByLibrary(this.library(), request, handler)
  }

  private library(): Pool {
    this.#library ??= libraryPool(this.#settings)
    return this.#library
  }

  async close(): Promise<void> {
    await Promise.all([this.#client.close(), this.#library?.close()])
  }

  async destroy(): Promise<void> {
    await Promise.all([this.#client.destroy(), this.#library?.destroy()])
  }
}

function isHeld(body: UpstreamRequest['body']): body is Uint8Array | null {
  return body === null || body instanceof Uint8Array
}

function libraryPool({ origin, connections, connect }: PoolSettings): Pool {
  return new Pool(origin, {
    connections,
    pipelining: 1,
    connect: { timeout: connect + 1000, keepAlive: true, keepAliveInitialDelay: 30_000, ...READ_AHEAD },
    headersTimeout: 0,
    bodyTimeout: 0,
    keepAliveTimeout: KEEP_ALIVE_MS,
    keepAliveMaxTimeout: 60_000,
    maxHeaderSize: MAX_HEAD_BYTES,
    autoSelectFamily: true,
  })
}

/** Sends a request by the library. */
export function dispatchByLibrary(dispatcher: Dispatcher, request: UpstreamRequest, handler: ExchangeHandler): void {
  const { method, path, headers, body } = request
  const options = { method, path, headers, body: body as Uint8Array | Readable | null }
  dispatcher.dispatch(options as Dispatcher.DispatchOptions, new LibraryHandler(handler))
}

class LibraryHandler implements Dispatcher.DispatchHandler {
  readonly #handler: ExchangeHandler

  constructor(handler: ExchangeHandler) {
    this.#handler = handler
  }

  onRequestStart(controller: UpstreamController): void {
    this.#handler.onRequestStart(controller)
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number, headers: AnswerHeaders): void {
    // They keep the buffer that they arrived in alive as long as the answer: 64 KiB per stream.
    controller.rawHeaders = null
    if (status >= 200) this.#handler.onResponseStart(controller, status, headers)
  }

  onResponseData(controller: UpstreamController, chunk: Buffer): void {
    this.#handler.onResponseData(controller, chunk)
  }

  onResponseEnd(controller: UpstreamController): void {
    this.#handler.onResponseEnd(controller)
  }

  onResponseError(controller: UpstreamController, cause: Error): void {
    this.#handler.onResponseError(controller, cause)
  }
}

interface Entry {
  readonly pool: UpstreamPool
  users: number
}

/**
 * Pools by upstream, origin and settings, shared across generations of the plan by reference count: a reload keeps the warm
 * connections of every upstream that it leaves as it was.
 */
export class Pools {
  readonly #transport: TransportName
  readonly #entries = new Map<string, Entry>()

  /** `transport`: who sends requests whose bodies are at hand. The library sends all others. */
  constructor(transport: TransportName) {
    this.#transport = transport
  }

  /** The pool for these settings; each acquire needs one release. */
  acquire(settings: PoolSettings): UpstreamPool {
    const key = keyOf(settings)
    let entry = this.#entries.get(key)
    if (entry === undefined) {
      entry = { pool: new UpstreamPool(settings, this.#transport), users: 0 }
      this.#entries.set(key, entry)
    }
    entry.users++
    return entry.pool
  }

  /** Pays back one acquire; the last one closes the pool as soon as its exchanges are over. */
  release(settings: PoolSettings): void {
    const key = keyOf(settings)
    const entry = this.#entries.get(key)
    if (entry === undefined) return
    entry.users--
    if (entry.users > 0) return
    this.#entries.delete(key)
    entry.pool.close().catch(() => undefined)
  }

  get size(): number {
    return this.#entries.size
  }

  /** Requests that wait for a connection. */
  get waiting(): number {
    return [...this.#entries.values()].reduce((sum, { pool }) => sum + pool.waiting, 0)
  }

  /** Breaks every connection at once. */
  async destroy(): Promise<void> {
    const pools = [...this.#entries.values()]
    this.#entries.clear()
    await Promise.allSettled(pools.map(entry => entry.pool.destroy()))
  }
}

function keyOf(settings: PoolSettings): string {
  return JSON.stringify([settings.upstream, settings.origin, settings.connections, settings.queue, settings.connect])
}
