import { ClientAddresses } from '../core/client-address.js'
import { OWN_HEADERS } from '../core/header-list.js'
import type { Plan, Upstream } from '../core/plan.js'
import { Egress } from '../net/egress.js'
import { MediaFetcher } from '../net/media.js'
import type { PoolSettings, Pools, UpstreamPool } from '../net/pools.js'

/** What the kernel needs to call an upstream. Of one shape with and without a signer: every request reads it. */
export class Reach {
  readonly pool: UpstreamPool
  /** The real origin: `https://host:port`. */
  readonly origin: string
  /** Of every request: flat name, value list. */
  readonly headers: readonly string[]
  /** Names of these headers. */
  readonly names: ReadonlySet<string>
  /** Headers that are sent only if the client sends none of that name. */
  readonly yielding: ReadonlySet<string>
  /** How connections leave for it, and for URLs that its answers and requests contain; absent: as the system has it. */
  readonly egress: Egress | undefined
  readonly #fixed: readonly string[]
  /** What the signer hid when `#secrets` was made. */
  #hidden: readonly string[] | undefined
  #secrets: readonly string[]

  /** `setting`: of the pool. */
  constructor(pool: UpstreamPool, setting: PoolSettings, upstream: Upstream, headers: readonly string[]) {
    this.pool = pool
    this.origin = new URL(setting.origin).origin
    this.headers = headers
    this.names = new Set(namesOf(headers))
    this.yielding = new Set(namesOf(upstream.headers).filter(upstream.forward.request))
    this.egress = setting.egress
    this.#fixed = secretsOf(upstream)
    this.#secrets = this.#fixed
  }

  /** Values that no client may see at the moment, plain and URL-encoded. */
  get secrets(): readonly string[] {
    const hidden = this.pool.signer?.hidden
    if (hidden !== this.#hidden) {
      this.#hidden = hidden
      this.#secrets = [...this.#fixed, ...(hidden ?? [])]
    }
    return this.#secrets
  }
}

/** Facts about upstreams that are known only when a plan goes live. */
export interface Places {
  /** An upstream's origin; `embedded:` ones listen on some loopback port. */
  origin(upstream: Upstream): string
  /** Headers of every request to it: flat name, value list. */
  headers(upstream: Upstream): readonly string[]
  /** How its requests get a credential that changes. */
  signing?(upstream: Upstream, origin: string, egress: Egress | undefined): PoolSettings['signing']
}

/**
 * A plan in service. Requests lease the generation that they arrived in and finish on it; when it is retired and the
 * last lease is returned, its pools are released.
 */
export class Generation {
  readonly plan: Plan
  readonly number: number
  /** Absent if nothing may be fetched. */
  readonly media: MediaFetcher | undefined
  readonly clients: ClientAddresses
  /** How connections leave that concern no upstream. */
  readonly #egress: Egress | undefined
  readonly #pools: Pools
  readonly #settings: readonly PoolSettings[]
  readonly #reach = new Map<Upstream, Reach>()
  #leases = 0
  #retired = false
  #released = false

  constructor(plan: Plan, number: number, pools: Pools, places: Places) {
    this.plan = plan
    this.number = number
    this.media = fetcherOf(plan.media)
    this.clients = new ClientAddresses(plan.listen.trusted_proxies)
    this.#egress = plan.egress && new Egress(plan.egress)
    this.#pools = pools
    const settings: PoolSettings[] = []
    for (const upstream of [...plan.upstreams.values()].flatMap(one => [one, ...one.others, ...one.former])) {
      if (upstream.off !== undefined) continue
      const egress = upstream.egress && new Egress(upstream.egress)
      const origin = places.origin(upstream)
      const signing = places.signing?.(upstream, origin, egress)
      const setting: PoolSettings = {
        upstream: upstream.name,
        origin,
        connections: egress?.pool.connections ?? plan.limits.connections,
        queue: egress?.pool.queue ?? plan.limits.queue,
        connect: upstream.connect,
        ...(egress === undefined ? {} : { egress }),
        ...(signing === undefined ? {} : { signing }),
      }
      settings.push(setting)
      const headers = fixedHeaders(upstream, places.headers(upstream))
      this.#reach.set(upstream, new Reach(pools.acquire(setting), setting, upstream, headers))
    }
    this.#settings = settings
  }

  reach(upstream: Upstream): Reach {
    const reach = this.#reach.get(upstream)
    if (reach === undefined) throw new Error(`upstream ${upstream.name} is not in service`)
    return reach
  }

  /** How connections leave that concern the upstream of that name; if it is gone, as those that concern none. */
  egressOf(name: string): Egress | undefined {
    const upstream = this.plan.upstreams.get(name)
    const reach = upstream && this.#reach.get(upstream)
    return reach === undefined ? this.#egress : reach.egress
  }

  /** Whether it can serve requests: its pools are there. */
  get isOpen(): boolean {
    return !this.#released
  }

  get leases(): number {
    return this.#leases
  }

  lease(): this {
    this.#leases++
    return this
  }

  release(): void {
    this.#leases--
    this.#settle()
  }

  /** Called once, when another generation has replaced it. */
  retire(): void {
    this.#retired = true
    this.#settle()
  }

  #settle(): void {
    if (!this.#retired || this.#leases > 0) return
    this.#retired = false
    this.#released = true
    for (const setting of this.#settings) this.#pools.release(setting)
  }
}

function fetcherOf({ fetch }: Plan['media']): MediaFetcher | undefined {
  if (fetch === undefined) return undefined
  const { allow, http, ports, max, total, count, timeout, redirects } = fetch
  return new MediaFetcher({
    allow,
    http,
    ports,
    maxBytes: max,
    maxTotal: total,
    maxCount: count,
    timeoutMs: timeout,
    maxRedirects: redirects,
  })
}

/** With those of the gateway's own; a declared header of the same name takes precedence. */
function fixedHeaders(upstream: Upstream, more: readonly string[]): readonly string[] {
  const headers = [...upstream.headers, ...more]
  const names = new Set(namesOf(headers))
  for (const [name, value] of OWN_HEADERS) if (!names.has(name)) headers.push(name, value)
  return headers
}

/** Names of a flat name, value list. */
function namesOf(headers: readonly string[]): readonly string[] {
  return headers.filter((_, index) => index % 2 === 0)
}

function secretsOf({ secret, hidden }: Upstream): readonly string[] {
  return [...(secret === undefined ? [] : [secret]), ...hidden].flatMap(one => {
    const value = one.reveal()
    return [value, encodeURIComponent(value)]
  })
}
