import type { buildConnector } from 'undici'
import type { Egress } from './egress.js'
import { addressOf, MediaGuard, type MediaRules } from './media-url.js'
import { type Dispatched, dispatchByLibrary, type UpstreamHandler, type UpstreamRequest } from './pools.js'
import { addressesOf, pinned, type Resolve, type ResolvedAddress } from './resolve.js'
import { Client } from './undici.js'

interface GuardedOptions extends MediaRules {
  /** Milliseconds for the connection and for the head of the answer, and between two pieces of it. */
  readonly timeoutMs: number
  /** How connections leave; default: as the system has it. */
  readonly egress?: Egress | undefined
  /** Default: as the system does. */
  readonly resolve?: Resolve
}

/**
 * Connections to addresses that come from outside: a result's URL, a client's webhook. The URL is checked, then every
 * address of its host. The connection goes to the checked addresses, even if the name resolves to others by then.
 * Redirects are not followed.
 */
export class GuardedHttp {
  readonly #guard: MediaGuard
  readonly #options: GuardedOptions

  constructor(options: GuardedOptions) {
    this.#guard = new MediaGuard(options)
    this.#options = options
  }

  /** Checks the URL itself, including an IP address as its host. Throws `Blocked`. */
  check(text: string): void {
    const url = this.#guard.url(text)
    const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
    if (addressOf(url) !== undefined) this.#guard.addresses(url, [host])
  }

  /** A connection for one request. Throws `Blocked`. The caller closes it. */
  async open(text: string, signal: AbortSignal, base?: URL): Promise<GuardedConnection> {
    const url = this.#guard.url(text, base)
    const addresses = await addressesOf(url, signal, this.#options.resolve)
    this.#guard.addresses(
      url,
      addresses.map(({ address }) => address),
    )
    const { timeoutMs, egress } = this.#options
    return new GuardedConnection(guardedClient(url, addresses, timeoutMs, egress), url)
  }
}

/** A connection to addresses that were checked, also through a proxy: that is asked for the address. */
export function guardedClient(
  url: URL,
  addresses: readonly ResolvedAddress[],
  timeoutMs: number,
  egress: Egress | undefined,
): Client {
  const throughEgress: buildConnector.connector = (_options, done) => {
    egress?.open({ url, timeoutMs, addresses }, done as Parameters<Egress['open']>[1])
  }
  return new Client(url.origin, {
    connect: egress === undefined ? { lookup: pinned(addresses), timeout: timeoutMs } : throughEgress,
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
    maxHeaderSize: 16 * 1024,
    pipelining: 0,
  })
}

class GuardedConnection {
  readonly #client: Client
  readonly url: URL

  constructor(client: Client, url: URL) {
    this.#client = client
    this.url = url
  }

  /** Path and query of the URL. */
  get target(): string {
    return this.url.pathname + this.url.search
  }

  dispatch(request: UpstreamRequest, handler: UpstreamHandler): Dispatched {
    dispatchByLibrary(this.#client, request, handler)
    return 'sent'
  }

  /** The exchange is over: nothing more is wanted of the connection. */
  finished(): void {
    this.#client.destroy().catch(() => undefined)
  }

  /** Nothing waits here: the connection is for this one request. */
  withdraw(): void {}
}
