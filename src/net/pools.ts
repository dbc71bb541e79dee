import { type Dispatcher, Pool } from 'undici'

export interface UpstreamRequest {
  readonly method: string
  readonly path: string
  /** Flat name, value list. */
  readonly headers: string[]
  readonly body: Uint8Array | NodeJS.ReadableStream | null
}

export interface PoolSettings {
  /** `https://host:port`. */
  readonly origin: string
  readonly connections: number
  /** Requests that may wait for a connection. */
  readonly queue: number
  /** Milliseconds for TCP and TLS. */
  readonly connect: number
}

export type UpstreamHandler = Dispatcher.DispatchHandler
export type UpstreamController = Dispatcher.DispatchController

/** How long an idle upstream connection is kept, milliseconds. Servers may ask for less by their `keep-alive` header. */
const KEEP_ALIVE = 15_000
/** A response head over this many bytes is an error of the upstream. */
const MAX_HEAD = 64 * 1024

/** Keep-alive connections to one origin. Redirects are not followed, bodies are not decoded, nothing is cached. */
export class UpstreamPool {
  readonly #pool: Pool
  readonly #most: number
  #open = 0

  constructor(settings: PoolSettings) {
    this.#most = settings.connections + settings.queue
    this.#pool = new Pool(settings.origin, {
      connections: settings.connections,
      pipelining: 1,
      // The kernel's watchdog keeps the exact times; this only frees a socket that hangs in its handshake.
      connect: { timeout: settings.connect + 1000, keepAlive: true, keepAliveInitialDelay: 30_000 },
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: KEEP_ALIVE,
      keepAliveMaxTimeout: 60_000,
      maxHeaderSize: MAX_HEAD,
      autoSelectFamily: true,
    })
  }

  /** Sends a request, or answers false where too many wait already. Each true is paid back by one `finished`. */
  dispatch(request: UpstreamRequest, handler: UpstreamHandler): boolean {
    if (this.#open >= this.#most) return false
    this.#open++
    this.#pool.dispatch(request as Dispatcher.DispatchOptions, handler)
    return true
  }

  /** The exchange that `dispatch` began is over. */
  finished(): void {
    this.#open--
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
 * Pools by origin and settings, shared across generations of the plan by reference count: a reload keeps the warm
 * connections of every upstream that it leaves as it was.
 */
export class Pools {
  readonly #entries = new Map<string, Entry>()

  /** The pool for these settings; each acquire is to be paid back by one release. */
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

  /** Breaks every connection at once. */
  async destroy(): Promise<void> {
    const pools = [...this.#entries.values()]
    this.#entries.clear()
    await Promise.allSettled(pools.map(entry => entry.pool.destroy()))
  }
}

function keyOf(settings: PoolSettings): string {
  return JSON.stringify([settings.origin, settings.connections, settings.queue, settings.connect])
}
