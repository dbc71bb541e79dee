import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { packageRoot } from '../../src/core/package-root.js'
import { type Bin, start } from '../cli/bin.js'
import { hookListener, type Notified } from './hook-listener.js'
import { DONE, imageProxy } from './image-upstream.js'
import { Journal, withResolvers } from './journal.js'
import { temporary } from './store-kinds.js'
import { film, startTaskUpstream, type TaskScript, type TaskUpstream } from './task-upstream.js'

const KEY = 'the-key-of-the-caller-0123456789'
const EVERY = 100

export interface Process {
  readonly bin: Bin
  readonly origin: string
}

export interface AwayStage {
  readonly images: TaskUpstream
  readonly notifications: Journal<Notified>
  readonly processes: readonly Process[]
  /** Times at which each film was asked for, milliseconds. */
  readonly polls: Journal<{ readonly id: string; readonly at: number }>
  /** The prompt of each film, in the order of the upstream's requests. */
  begun(): readonly string[]
  begin(process: Process, prompt: string): Promise<Answered>
  /** Lets what was begun up to now end. */
  finish(): void
  /** The upstream has the request to begin that film in hand, and answers when it is let. */
  hold(prompt: string): { readonly asked: Promise<void>; answer(): void }
}

/** So many gateways, as processes, on one store. */
export async function awayStage(t: Test, store: string, many: number): Promise<AwayStage> {
  const polls = new Journal<{ readonly id: string; readonly at: number }>('polls')
  const holds = new Map<string, { asked: () => void; answer: Promise<void> }>()
  let count = 0
  let finished = 0
  const script: TaskScript = async request => {
    const { method, target, headers } = request
    if (target === '/v1/chat/completions') return { body: { id: 'c', object: 'chat.completion', choices: [] } }
    if (method === 'POST') {
      const id = `vid_${++count}`
      const hold = holds.get(String(request.json().prompt))
      hold?.asked()
      await hold?.answer
      return { body: { id, object: 'video', status: 'queued' } }
    }
    if (target.endsWith('/content')) return film(headers.range)
    const id = target.split('/').at(-1) ?? ''
    polls.push({ id, at: performance.now() })
    const done = Number(id.slice('vid_'.length)) <= finished
    return { body: { id, object: 'video', status: done ? 'completed' : 'in_progress' } }
  }
  const films = await startTaskUpstream(t, script)
  const records = [{ status: 'IN_PROGRESS', progress: '31%' }]
  const images = await startTaskUpstream(
    t,
    imageProxy({
      records,
      poll: id => (Number(id.slice(-5)) - 10_000 <= finishedImages ? { body: { id, ...DONE } } : undefined),
    }),
  )
  let finishedImages = 0
  const { url, port, notifications } = await hookListener(t, () => 204)
  const file = join(temporary(t), 'gateway.yaml')
  const secret = 'secret: { env: UPSTREAM_KEY }'
  writeFileSync(
    file,
    `version: 1
listen: { port: 0 }
store: ${store}
tasks: { lease: 3s }
timeouts: { connect: 1s, first_byte: 20s }
webhooks: { secret: { env: HOOK_SECRET }, allow: [localhost, 127.0.0.1], ports: [${port}] }
keys: { caller: { secret: { env: CALLER_KEY } } }
upstreams:
  up: { kind: openai, base: "${films.origin}", ${secret}, tasks: { poll: { every: ${EVERY}ms, first: ${EVERY}ms } } }
  draw: { kind: midjourney-proxy, base: "${images.origin}", ${secret}, tasks: { poll: { every: ${EVERY}ms } } }
models: { film: up, chat: up, midjourney: draw }
`,
  )
  const NODE_EXTRA_CA_CERTS = join(packageRoot(), 'test/fixtures/tls/first.pem')
  const env = { CALLER_KEY: KEY, UPSTREAM_KEY: 'u', HOOK_SECRET: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw' }
  const open = async (): Promise<Process> => {
    const bin = start(t, ['serve', file], { env: { ...env, NODE_EXTRA_CA_CERTS }, bare: true })
    const [, origin = ''] = await bin.until(/"address":"([^"]+)"/)
    return { bin, origin }
  }
  const processes = await Promise.all(Array.from({ length: many }, open))
  return {
    images,
    notifications,
    polls,
    processes,
    begun: () =>
      films.submits.filter(({ target }) => target === '/v1/videos').map(request => String(request.json().prompt)),
    begin: (process, prompt) => ask(process, '/v1/videos', { model: 'film', prompt, webhook_url: url }),
    finish: () => {
      finished = count
      finishedImages = images.submits.length
    },
    hold: prompt => {
      const [asked, answer] = [withResolvers<void>(), withResolvers<void>()]
      holds.set(prompt, { asked: asked.resolve, answer: answer.promise })
      return { asked: asked.promise, answer: answer.resolve }
    },
  }
}

// biome-ignore lint/suspicious/noExplicitAny: what a client reads
export type Json = any

export interface Answered {
  readonly status: number
  readonly wait: string | null
  readonly json: Json
}

export async function ask({ origin, bin }: Process, path: string, body?: object, method?: string): Promise<Answered> {
  const asking = fetch(`${origin}${path}`, {
    method: method ?? (body === undefined ? 'GET' : 'POST'),
    headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const answer = await asking.catch(async error => {
    // Where the process has ended, that is the news.
    await fetch(`${origin}/livez`).catch(async () => {
      const { code, signal, stderr } = await bin.ended
      throw new Error(`the gateway ended (${code ?? signal}): ${stderr.slice(-1000)}`)
    })
    throw error
  })
  const bytes = Buffer.from(await answer.arrayBuffer())
  const isJson = answer.headers.get('content-type')?.includes('json') === true
  return {
    status: answer.status,
    wait: answer.headers.get('retry-after'),
    json: isJson ? JSON.parse(bytes.toString()) : bytes,
  }
}

/** The connection to a server that takes no writes is made anew now and then, in case that another one has taken over. */
export async function soon(asking: () => Promise<Answered>): Promise<Answered> {
  for (;;) {
    const answer = await asking()
    if (answer.status !== 503) return answer
  }
}

/** Resolves when every webhook of a task has been delivered, and the store has noted it. */
export async function taken(processes: readonly Process[], id: string): Promise<void> {
  const line = new RegExp(
    `"task":"${id}"[^\\n]*"msg":"notification taken"|"msg":"notification taken"[^\\n]*"task":"${id}"`,
  )
  await Promise.any(processes.map(({ bin }) => bin.until(line)))
}

/** Lines of the logs that tell how tasks changed; what the store's library says is before them without a line's end. */
function changesIn(processes: readonly Process[]): Json[] {
  return processes.flatMap(({ bin }) =>
    `${bin.stdout}${bin.stderr}`
      .split('\n')
      .filter(line => line.includes('"msg":"task changed"') && line.endsWith('}'))
      .map(line => JSON.parse(line.slice(line.indexOf('{"')))),
  )
}

/**
 * The upstream's requests, the store, the logs and the webhooks agree: each of these tasks, its prompt by
 * its id, was begun once, is in the store, ended once and was reported once. What was refused was not begun.
 */
export async function nothingLost(t: Test, stage: AwayStage, begun: ReadonlyMap<string, string>): Promise<void> {
  const { processes, notifications, polls } = stage
  const [one] = processes as [Process]
  const asked = stage.begun()
  t.same([...asked].sort(), [...new Set(asked)].sort(), 'each film was begun once')
  t.same([...asked].sort(), [...begun.values()].sort(), 'and those that clients know of')
  const listed = (await ask(one, '/v1/videos?limit=100')).json.data as readonly Json[]
  const known = listed.filter(({ prompt }) => asked.includes(prompt))
  t.same(known.map(({ id }) => id).sort(), [...begun.keys()].sort())
  // Of what was refused a record may be there until it is looked after, where it could not be removed.
  for (const { id, status } of listed) if (!begun.has(id)) t.match(status, /^(queued|failed)$/, id)
  const changes = changesIn(processes)
  for (const id of begun.keys()) {
    const ends = changes.filter(({ task, to }) => task === id && to !== 'running')
    t.same(
      ends.map(({ to }) => to),
      ['succeeded'],
      id,
    )
  }
  const numbers = notifications.items.map(({ headers }) => String(headers['webhook-id']))
  t.same([...numbers].sort(), [...begun.keys()].map(id => `msg_${id}.1`).sort(), 'each was reported once')
  for (const id of new Set(polls.items.map(({ id }) => id))) {
    const times = polls.items.filter(poll => poll.id === id).map(({ at }) => at)
    const gaps = times.slice(1).map((time, index) => time - (times[index] ?? 0))
    t.ok(Math.min(...gaps, EVERY) >= EVERY * 0.85, `one poller of ${id}: ${Math.min(...gaps)} ms`)
  }
}
