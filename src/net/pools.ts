import type { Dispatcher } from 'undici'
import { FairQueue } from '../core/fair-queue.js'
import { Pool } from './undici.js'

export interface UpstreamRequest {
  readonly method: string
  readonly path: string
  /** Flat name, value list. */
  readonly headers: string[]
  readonly body: Uint8Array | NodeJS.ReadableStream | null
}

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
export interface UpstreamHandler extends Dispatcher.DispatchHandler {
  /** Name of the caller's key: connections are shared fairly among keys. */
  readonly key: string
  /** The wait for a connection is over. Not called where one was free. */
  onPlace(): void
}
/** `full`: too many requests wait already. */
export type Dispatched = 'sent' | 'waiting' | 'full'
export type UpstreamController = Dispatcher.DispatchController

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
  readonly #pool: Pool
  /** The library's own queue stays empty but for the moment between two requests of a connection. */
  readonly #queue: FairQueue<Waiter>

  constructor(settings: PoolSettings) {
    this.#queue = new FairQueue<Waiter>(settings.connections, settings.queue, ({ request, handler }) => {
      handler.onPlace()
      this.send(request, handler)
    })
    this.#pool = new Pool(settings.origin, {
      connections: settings.connections,
      pipelining: 1,
      // The kernel's watchdog keeps the exact times; this only frees a socket that hangs in its handshake.
      connect: { timeout: settings.connect + 1000, keepAlive: true, keepAliveInitialDelay: 30_000, ...READ_AHEAD },
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: KEEP_ALIVE_MS,
      keepAliveMaxTimeout: 60_000,
      maxHeaderSize: MAX_HEAD_BYTES,
      autoSelectFamily: true,
    })
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
    this.#pool.dispatch(request as Dispatcher.DispatchOptions, handler)
  }

  async close(): Promise<void> {
    await this.#pool.close()
  }

  async destroy(): Promise<void> {
    await this.#pool.destroy()
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
  readonly #entries = new Map<string, Entry>()

  /** The pool for these settings; each acquire needs one release. */
  acquire(settings: PoolSettings): UpstreamPool {
    const key = keyOf(settings)
    let entry = this.#entries.get(key)
    if (entry === undefined) {
      entry = { pool: new UpstreamPool(settings), users: 0 }
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
