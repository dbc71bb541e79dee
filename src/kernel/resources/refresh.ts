import type { ResourceKind } from '../../core/resources.js'
import type { Call } from '../call.js'
import { InnerExchange, type Serve } from '../inner.js'
import type { Work } from '../watchdog.js'
import type { OwnedResource } from './ownership-store.js'
import { ownerOf } from './route-to-owner.js'

/** Most things of one list that are asked for, and so many at once. */
const MAX_REFRESHED = 100
const MAX_CONCURRENT = 4
/** How long a list waits for its upstreams altogether, milliseconds. */
const REFRESH_TIMEOUT_MS = 10_000

/**
 * The things, and those that have never been seen themselves, such as files that a batch has made, once their upstreams have
 * been asked: the caller's own request shows each, so that it is written down on its way. What an upstream does not tell in
 * time stays unseen.
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
  const { ownership } = call.kernel.state
  return Promise.all(
    items.map(async item =>
      item.object === undefined ? ((await ownership.find(ownerOf(call), kind, item.id)) ?? item) : item,
    ),
  )
}

/** The requests by which a list asks, as long as its client is there and the time is not up. */
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

  /** Resolves when the answer is over, whatever it is. */
  request(path: string): Promise<void> {
    const asked = { method: 'GET', target: path, body: Buffer.alloc(0) }
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
