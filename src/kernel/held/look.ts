import type { IncomingMessage, ServerResponse } from 'node:http'
import type { HeldKind } from '../../core/held.js'
import type { Call } from '../call.js'
import { InnerRequest, InnerResponse } from '../inner.js'
import { innerHeaders } from '../state/inner-headers.js'
import { ownerOf } from './choose.js'
import type { Held } from './holdings.js'

/** Answers a request inside the process. */
export type Serve = (request: IncomingMessage, response: ServerResponse) => void

/** Most things of one list that are asked for, and so many at once. */
const MOST = 100
const AT_ONCE = 4

/**
 * The things, and those that have never been seen themselves, such as files that a batch has made, once their upstreams have
 * been asked: the caller's own request shows each, so that it is written down on its way.
 */
export async function looked(
  call: Call,
  kind: HeldKind,
  items: readonly Held[],
  serve: Serve,
): Promise<readonly Held[]> {
  const { routes } = call.generation.plan
  const shows = routes.find(
    ({ holding, method }) => holding?.verb === 'shows' && holding.kind === kind && method === 'GET',
  )
  const unseen = items.filter(item => item.object === undefined).slice(0, MOST)
  if (shows === undefined || unseen.length === 0) return items
  const path = shows.id.slice('GET '.length)
  for (let at = 0; at < unseen.length && !call.over; at += AT_ONCE) {
    const now = unseen.slice(at, at + AT_ONCE)
    await Promise.all(
      now.map(({ id }) =>
        ask(
          call,
          path.replace(/\{\w+\}/, () => encodeURIComponent(id)),
          serve,
        ),
      ),
    )
  }
  const { holdings } = call.kernel.state
  return Promise.all(
    items.map(async item =>
      item.object === undefined ? ((await holdings.find(ownerOf(call), kind, item.id)) ?? item) : item,
    ),
  )
}

/** Resolves when the answer is over, whatever it is. */
function ask({ request }: Call, path: string, serve: Serve): Promise<void> {
  const inner = new InnerRequest('GET', path, innerHeaders(request.rawHeaders), Buffer.alloc(0), {})
  return new Promise(resolve => {
    const over = (): void => resolve()
    serve(inner, new InnerResponse(inner, { head: () => undefined, data: () => true, end: over, broken: over }))
  })
}
