import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type t from 'tap'
import { witness } from './canaries.js'
import { Journal, withResolvers } from './journal.js'

type Test = Pick<typeof t, 'teardown'>

export interface TaskRequest {
  readonly method: string
  readonly target: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
  json(): Record<string, unknown>
}

/** What an upstream answers; `hang`: nothing, `reset`: it breaks the connection. */
export type TaskAnswer =
  | 'hang'
  | 'reset'
  | { readonly status?: number; readonly headers?: Record<string, string>; readonly body?: unknown }

/** Called for each request; what it gives is sent when it is there. */
export type TaskScript = (request: TaskRequest, upstream: TaskUpstream) => TaskAnswer | Promise<TaskAnswer>

/** The same script, whose submits (or those that `isHeld` picks) are answered when the test says so. */
export function held(
  usual: TaskScript,
  isHeld: (request: TaskRequest, upstream: TaskUpstream) => boolean = () => true,
): { readonly script: TaskScript; readonly asked: Promise<void>; readonly answer: () => void } {
  const [asked, answer] = [withResolvers<void>(), withResolvers<void>()]
  const script: TaskScript = async (request, upstream) => {
    if (request.method === 'POST' && isHeld(request, upstream)) {
      asked.resolve()
      await answer.promise
    }
    return usual(request, upstream)
  }
  return { script, asked: asked.promise, answer: answer.resolve }
}

/** An upstream that works while no one waits, in the shape that a test gives it. */
export async function startTaskUpstream(test: Test, script: TaskScript, host = '127.0.0.1'): Promise<TaskUpstream> {
  const upstream = new TaskUpstream(script, host)
  await upstream.listen()
  test.teardown(() => upstream.close())
  return upstream
}

export class TaskUpstream {
  readonly requests = new Journal<TaskRequest>('requests to the upstream of tasks')
  script: TaskScript
  readonly #host: string
  readonly #server: Server

  constructor(script: TaskScript, host: string) {
    this.script = script
    this.#host = host
    this.#server = createServer((request, response) => {
      const chunks: Buffer[] = []
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.on('end', async () => {
        const body = Buffer.concat(chunks).toString('utf8')
        witness('upstream', Buffer.from(`${JSON.stringify(request.headers)}${body}`))
        const { method = '', url: target = '', headers } = request
        const seen: TaskRequest = { method, target, headers, body, json: () => JSON.parse(body) }
        this.requests.push(seen)
        const answer = await this.script(seen, this)
        if (answer === 'hang' || response.destroyed) return
        if (answer === 'reset') {
          request.socket.resetAndDestroy()
          return
        }
        const bytes = Buffer.isBuffer(answer.body) ? answer.body : Buffer.from(JSON.stringify(answer.body ?? {}))
        const type = Buffer.isBuffer(answer.body) ? 'video/mp4' : 'application/json'
        response.writeHead(answer.status ?? 200, {
          'content-type': type,
          'content-length': bytes.length,
          ...answer.headers,
        })
        response.end(method === 'HEAD' ? undefined : bytes)
      })
    })
  }

  async listen(port = 0): Promise<void> {
    this.#server.listen(port, this.#host)
    await once(this.#server, 'listening')
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  get origin(): string {
    return `http://${this.#host}:${this.port}`
  }

  /** Breaks every connection. */
  breakAll(): void {
    this.#server.closeAllConnections()
  }

  /** Requests that begin a task. */
  get submits(): readonly TaskRequest[] {
    return this.requests.items.filter(({ method }) => method === 'POST')
  }

  async close(): Promise<void> {
    if (!this.#server.listening) return
    this.#server.closeAllConnections()
    this.#server.close()
    await once(this.#server, 'close')
  }
}

/** Bytes that stand for a video. */
export const FILM = Buffer.from(Array.from({ length: 4096 }, (_, at) => (at * 31) % 256))

/**
 * The compatible protocol: each poll of a task gives the next of the states, the last one again and again. Content knows
 * ranges.
 */
export function compatible(...states: readonly object[]): TaskScript {
  const polls = new Map<string, number>()
  let count = 0
  return ({ method, target, headers }) => {
    const [, id = '', below = ''] = /^\/v1\/videos\/([^/?]+)(\/\w+)?/.exec(target) ?? []
    if (method === 'POST') return { body: { id: `vid_${++count}`, object: 'video', status: 'queued', progress: 0 } }
    if (method === 'DELETE') return { body: { id, deleted: true } }
    if (below === '/content') return film(headers.range)
    const at = polls.get(id) ?? 0
    polls.set(id, at + 1)
    return { body: { id, object: 'video', ...states[Math.min(at, states.length - 1)] } }
  }
}

export function film(range: string | undefined): TaskAnswer {
  const [, from, to] = /^bytes=(\d+)-(\d*)$/.exec(range ?? '') ?? []
  if (from === undefined) return { body: FILM, headers: { 'content-type': 'video/mp4', etag: '"theirs"' } }
  const [first, last] = [Number(from), to === '' ? FILM.length - 1 : Number(to)]
  if (first >= FILM.length)
    return { status: 416, body: Buffer.alloc(0), headers: { 'content-range': `bytes */${FILM.length}` } }
  const place = `bytes ${first}-${last}/${FILM.length}`
  return {
    status: 206,
    body: FILM.subarray(first, last + 1),
    headers: { 'content-type': 'video/mp4', 'content-range': place },
  }
}

/** A configuration with the upstream `up` of the compatible kind and the model `film` on it. */
export function filmYaml(origin: string, task = 'poll: { every: 20ms }', more = ''): string {
  return `version: 1
store: { type: memory }
keys:
  caller: { secret: { env: CALLER_KEY }, models: ["*"] }
  other: { secret: { env: OTHER_KEY }, models: ["*"] }
upstreams:
  up:
    kind: openai
    base: "${origin}"
    secret: { env: UPSTREAM_KEY }
    tasks: { ${task} }
models: { film: up }
${more}`
}
