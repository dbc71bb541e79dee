import { addressOf, MediaGuard, type MediaRules } from './media-url.js'
import { type Dispatched, dispatchByLibrary, type UpstreamHandler, type UpstreamRequest } from './pools.js'
import { addressesOf, pinned, type Resolve } from './resolve.js'
import { Client } from './undici.js'

interface GuardedOptions extends MediaRules {
  /** Milliseconds for the connection and for the head of the answer, and between two pieces of it. */
  readonly timeoutMs: number
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
    const { timeoutMs } = this.#options
    const client = new Client(url.origin, {
      connect: { lookup: pinned(addresses), timeout: timeoutMs },
      headersTimeout: timeoutMs,
      bodyTimeout: timeoutMs,
      maxHeaderSize: 16 * 1024,
      pipelining: 0,
    })
    return new GuardedConnection(client, url)
  }
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
