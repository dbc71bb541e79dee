import type { ResourceKind } from '../../core/resources.js'
import type { Call } from '../../kernel/call.js'
import { InnerExchange, type Serve } from '../../kernel/inner.js'
import type { Work } from '../../kernel/watchdog.js'
import { OWNERSHIP, type OwnedResource } from './ownership-store.js'
import { ownerOf } from './route-to-owner.js'

/** Most resources of one list that are requested, and how many at once. */
const MAX_REFRESHED = 100
const MAX_CONCURRENT = 4
/** How long a list waits for all its upstreams together, milliseconds. */
const REFRESH_TIMEOUT_MS = 10_000

/**
 * The resources, after requesting those whose objects are unknown (such as files that a batch created) from their upstreams.
 * The requests are the caller's own, so that the relay records each object as it passes. Objects that do not arrive in time
 * stay unknown.
 */
export async function refresh(
  call: Call,
  kind: ResourceKind,
  items: readonly OwnedResource[],
  serve: Serve,
): Promise<readonly OwnedResource[]> {
  const { routes } = call.generation.plan
  const shows = routes.find(
    ({ resource, method }) => resource?.action === 'read' && resource.kind === kind && method === 'GET',
  )
  const unseen = items.filter(item => item.object === undefined).slice(0, MAX_REFRESHED)
  if (shows === undefined || unseen.length === 0) return items
  const path = shows.id.slice('GET '.length)
  const refreshing = new Refresh(call, serve)
  call.work = refreshing
  for (let at = 0; at < unseen.length && !refreshing.over; at += MAX_CONCURRENT) {
    const now = unseen.slice(at, at + MAX_CONCURRENT)
    await Promise.all(now.map(({ id }) => refreshing.request(path.replace(/\{\w+\}/, () => encodeURIComponent(id)))))
  }
  const ownership = call.kernel.need(OWNERSHIP)
  return Promise.all(
    items.map(async item =>
      item.object === undefined ? ((await ownership.find(ownerOf(call), kind, item.id)) ?? item) : item,
    ),
  )
}

/** The requests of one list; they end when its client leaves or the time is over. */
class Refresh implements Work {
  readonly #call: Call
  readonly #serve: Serve
  readonly #started = performance.now()
  readonly #requests = new Set<InnerExchange>()
  #over = false

  constructor(call: Call, serve: Serve) {
    this.#call = call
    this.#serve = serve
  }

  get over(): boolean {
    return this.#over
  }

  /** Resolves when the answer has ended, well or not. */
  request(path: string): Promise<void> {
    const { trace, generation } = this.#call
    const asked = { method: 'GET', target: path, body: Buffer.alloc(0), inside: { trace, generation } }
    return new Promise(resolve => {
      const over = (): void => {
        this.#requests.delete(request)
        resolve()
      }
      const receiver = { head: () => undefined, data: () => true, end: over, broken: over }
      const request = new InnerExchange(this.#call.request, asked, receiver)
      this.#requests.add(request)
      this.#serve(request)
    })
  }

  check(now: number): void {
    if (now - this.#started > REFRESH_TIMEOUT_MS) this.cancel()
  }

  cancel(): void {
    this.#over = true
    for (const request of [...this.#requests]) request.destroy()
  }

  cut(): boolean {
    return false
  }
}
