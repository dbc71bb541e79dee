import type { Test } from 'tap'
import { hookListener, type Notified } from './hook-listener.js'
import { Journal } from './journal.js'
import { CALLER_SECRET, Lives } from './lives.js'
import { type MarkedUpstream, markedUpstream, NAMED } from './marked-upstream.js'
import { Marks } from './marks.js'

/** A report about a task. */
export interface Told {
  readonly name: string
  readonly id: string
  readonly body: string
  /** The state of the task, in the words of films or of images. */
  readonly status: string
}

export interface KillStage {
  readonly marks: Marks
  readonly upstream: MarkedUpstream
  readonly lives: Lives
  /** Where notifications go. */
  readonly hook: string
  readonly told: Journal<Told>
  /** A request with the caller's key; undefined where there is no answer. */
  ask(
    method: string,
    path: string,
    body?: string | FormData,
    more?: Record<string, string>,
  ): Promise<Response | undefined>
}

const MOST_TRIES = 1000

/** How long the gateway waits for answers. They leave a process time to stop. */
const WAITS = `timeouts: { connect: 1s, first_byte: 12s }
tasks: { lease: 15s }`

/** A gateway, its upstream and anyone who is reported, with everything between them that marks can stop. */
export async function killStage(t: Test, store: string): Promise<KillStage> {
  const marks = new Marks()
  const upstream = await markedUpstream(t, marks)
  const told = new Journal<Told>('what whoever wants to be told was told')
  const status = async (_: number, notified: Notified): Promise<number> => {
    const notice = toldOf(notified)
    const { name } = notice
    told.push(notice)
    const mark = marks.reached(name, 'told')
    const answer = upstream.statusFor(name, marks.answered(name, 'told'))
    if (mark !== undefined) await new Promise<void>(release => marks.park(name, mark, release))
    marks.note(name, 'told')
    return answer
  }
  const { url: hook, port } = await hookListener(t, status)
  const every = 'poll: { every: 50ms, slowest: 1s, concurrency: 32 }'
  const up = (base: string, task: string): string =>
    `{ kind: openai, base: "${upstream.origin}${base}", secret: { env: UPSTREAM_KEY }, speaks: { videos.cancel: "POST /v1/videos/{task_id}/cancel" }, tasks: { ${every}, ${task} } }`
  const lives = new Lives(
    t,
    `version: 1
listen: { port: 0 }
store: ${store}
keys: { caller: { secret: { env: CALLER_KEY } } }
${WAITS}
webhooks: { secret: { env: HOOK_SECRET }, allow: [localhost, 127.0.0.1], ports: [${port}], timeout: 5s }
upstreams:
  up: ${up('', 'deadline: 10m')}
  busy: ${up('/busy', 'deadline: 10m')}
  brief: ${up('', 'deadline: 1s, grace: 1s')}
  images: { kind: midjourney-proxy, base: "${upstream.origin}", secret: { env: UPSTREAM_KEY }, tasks: { ${every} } }
models: { film: up, brief: brief, either: [busy, up], midjourney: images }
routes:
  POST /v1/videos/{task_id}/cancel: { task: { kind: video, action: cancel } }
`,
  )
  const ask: KillStage['ask'] = async (method, path, body, more = {}) => {
    const type = typeof body === 'string' ? { 'content-type': 'application/json' } : {}
    const headers = { authorization: `Bearer ${CALLER_SECRET}`, ...type, ...more }
    const init = { method, headers, ...(body === undefined ? {} : { body }) }
    for (let tries = 1; ; tries++) {
      const answer = await fetch(`${lives.origin}${path}`, init).catch(() => undefined)
      // On a slow machine a store may seem to be gone for a moment. What can be asked again is.
      const again = method === 'GET' || 'idempotency-key' in more
      if (answer?.status !== 503 || !again || tries === MOST_TRIES) return answer
      await answer.arrayBuffer()
    }
  }
  return { marks, upstream, lives, hook, told, ask }
}

function toldOf({ headers, body }: Notified): Told {
  const { data, status } = JSON.parse(body)
  return { name: NAMED.exec(body)?.[1] ?? '', id: String(headers['webhook-id']), body, status: data?.status ?? status }
}
