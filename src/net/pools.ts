import type { Readable } from 'node:stream'
import type { buildConnector, Dispatcher } from 'undici'
import type { TransportName } from '../core/config.js'
import { FairQueue } from '../core/fair-queue.js'
import type {
  AnswerHeaders,
  ExchangeHandler,
  UpstreamController,
  UpstreamRequest,
} from '../transport/client/handler.js'
import { ClientPool, MAX_AGE_MS } from '../transport/client/pool.js'
import type { Egress } from './egress.js'
import { Http2Pool } from './http2-pool.js'
import { names } from './names.js'
import { ObservedExchange } from './observed-exchange.js'
import { SignedExchange } from './signed-exchange.js'
import type { RequestSigner } from './signer.js'
import { Pool } from './undici.js'

export type {
  ExchangeObserver,
  SessionObserver,
  SessionSide,
  UpstreamController,
  UpstreamRequest,
} from '../transport/client/handler.js'

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
  /** Absent: connections leave as the system has it. */
  readonly egress?: Egress
  /** Absent: what is sent has its credential already. */
  readonly signing?: Signing
}

/** How requests get a credential that changes. */
interface Signing {
  /** Of all that decides it, secrets included: never shown. */
  readonly digest: string
  open(): RequestSigner
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
/** Beyond the time for connections: the kernel's watchdog keeps the exact times. */
const GRACE_MS = 1000
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
  /** How long after its time-out a connection that is being made is given up, milliseconds. Until then its pool reports what hangs. */
  readonly connectGraceMs: number
  /** Whether requests whose bodies are at hand are sent by our own client. */
  readonly #isFast: boolean
  readonly #client: ClientPool
  /** Set for upstreams that are called by HTTP/2. */
  readonly #http2: Http2Pool | undefined
  /** Set for upstreams whose credential changes. */
  readonly signer: RequestSigner | undefined
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
    const { origin, egress } = settings
    this.signer = settings.signing?.open()
    const isProxied = egress?.isProxied(new URL(origin)) === true
    this.connectGraceMs = isProxied ? GRACE_MS : 0
    // Our own client does not know proxies.
    this.#isFast = transport === 'fast' && !isProxied
    this.#http2 = http2Pool(settings, (request, handler) => this.sendByHttp1(request, handler))
    // The kernel's watchdog keeps the exact times; this only frees a socket that hangs in its handshake.
    this.#client = new ClientPool(origin, settings.connect + GRACE_MS, clientOptions(egress))
  }

  /** Requests that wait for a connection. */
  get waiting(): number {
    return this.#queue.waiting
  }

  /** Requests that have a connection. */
  get inUse(): number {
    return this.#queue.taken
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
    const { observer } = request
    const heard = observer === undefined ? handler : new ObservedExchange(handler, observer)
    if (this.signer === undefined) this.#sendSigned(request, heard)
    else new SignedExchange(this.signer, request, heard, this.#sendSigned).start()
  }

  readonly #sendSigned = (request: UpstreamRequest, handler: ExchangeHandler): void => {
    if (this.#http2 === undefined) this.sendByHttp1(request, handler)
    else this.#http2.send(request, handler)
  }

  private sendByHttp1(request: UpstreamRequest, handler: ExchangeHandler): void {
    const { method, path, headers, body } = request
    if (this.#isFast && isHeld(body)) this.#client.send({ method, path, headers, body }, handler)
    else dispatchByLibrary(this.library(), request, handler)
  }

  private library(): Pool {
    this.#library ??= libraryPool(this.#settings)
    return this.#library
  }

  async close(): Promise<void> {
    await Promise.all([this.#http2?.close(), this.#client.close(), this.#library?.close()])
  }

  async destroy(): Promise<void> {
    await Promise.all([this.#http2?.destroy(), this.#client.destroy(), this.#library?.destroy()])
  }
}

function isHeld(body: UpstreamRequest['body']): body is Uint8Array | null {
  return body === null || body instanceof Uint8Array
}

function clientOptions(egress: Egress | undefined): ConstructorParameters<typeof ClientPool>[2] {
  const { idle, age } = egress?.pool ?? {}
  return {
    ...egress?.secure,
    lookup: names.lookup,
    ...(idle === undefined ? {} : { idle: { usual: idle, most: idle } }),
    ...(age === undefined ? {} : { ageMs: age }),
  }
}

/** HTTP/2 comes with TLS alone, where both sides agree on it. */
function http2Pool(
  { origin, connect, egress }: PoolSettings,
  byHttp1: (request: UpstreamRequest, handler: ExchangeHandler) => void,
): Http2Pool | undefined {
  const url = new URL(origin)
  if (egress?.http2 !== true || url.protocol !== 'https:') return undefined
  const { idle = KEEP_ALIVE_MS, age = MAX_AGE_MS } = egress.pool
  return new Http2Pool({
    origin: url,
    egress,
    connectMs: timeToConnect(egress, url, connect),
    idleMs: idle,
    ageMs: age,
    byHttp1,
  })
}

/** Through a proxy it has exactly the time for connections, so that what hangs is known to be the proxy. */
function timeToConnect(egress: Egress, url: URL, connect: number): number {
  return egress.isProxied(url) ? connect : connect + GRACE_MS
}

function libraryPool({ origin, connections, connect, egress }: PoolSettings): Pool {
  const { idle, age } = egress?.pool ?? {}
  return new Pool(origin, {
    connections,
    pipelining: 1,
    connect: egress === undefined ? directly(connect) : leavingBy(egress, connect),
    headersTimeout: 0,
    bodyTimeout: 0,
    keepAliveTimeout: idle ?? KEEP_ALIVE_MS,
    keepAliveMaxTimeout: idle ?? 60_000,
    clientTtl: age ?? MAX_AGE_MS,
    maxHeaderSize: MAX_HEAD_BYTES,
    autoSelectFamily: true,
  })
}

function directly(connect: number): object {
  return {
    timeout: connect + GRACE_MS,
    keepAlive: true,
    keepAliveInitialDelay: 30_000,
    lookup: names.lookup,
    ...READ_AHEAD,
  }
}

function leavingBy(egress: Egress, connect: number): buildConnector.connector {
  return ({ protocol, host, hostname, port }, done) => {
    const url = new URL(`${protocol}//${host ?? `${hostname}:${port}`}`)
    egress.open({ url, timeoutMs: timeToConnect(egress, url, connect) }, done as Parameters<Egress['open']>[1])
  }
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
  const { upstream, origin, connections, queue, connect, egress, signing } = settings
  return JSON.stringify([upstream, origin, connections, queue, connect, egress?.digest, signing?.digest])
}
