import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Json } from '../../core/json.js'
import type { Script, ScriptedAnswer } from './test-file.js'

/** Largest request that a scripted upstream keeps. */
const MAX_REQUEST_BYTES = 64 * 1024 * 1024

/** A request that a scripted upstream got. */
export interface Call {
  readonly upstream: string
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, Json>>
  /** JSON where it is some, else text. */
  readonly body: Json
}

/** Decides an answer by the request. */
export type Answerer = (call: Call) => ScriptedAnswer

/** All upstreams of one test: a server on loopback, where each has a prefix of its own. */
export class ScriptedUpstreams {
  readonly calls: Call[] = []
  readonly #scripts: Readonly<Record<string, Script | Answerer>>
  readonly #server = createServer((request, response) => {
    this.#answer(request, response).catch(() => response.destroy())
  })

  constructor(scripts: Readonly<Record<string, Script | Answerer>>) {
    this.#scripts = scripts
  }

  async start(): Promise<void> {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
  }

  /** The address in place of the upstream's own, with the same prefix of its calls. */
  baseOf(upstream: string, base: string): string {
    const { port } = this.#server.address() as AddressInfo
    const { pathname } = new URL(base)
    return `http://127.0.0.1:${port}/${upstream}${pathname.replace(/\/$/, '')}`
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections()
    this.#server.close()
    await once(this.#server, 'close')
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [, upstream = '', ...rest] = (request.url ?? '').split('/')
    const body = await bodyOf(request)
    const before = this.calls.filter(call => call.upstream === upstream).length
    const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]))
    const call = { upstream, method: request.method ?? '', path: `/${rest.join('/')}`, headers, body }
    this.calls.push(call)
    const chosen = answerOf(this.#scripts[upstream], call, before) ?? notScripted(upstream)
    if (chosen.fault === 'reset') response.destroy()
    else send(response, chosen)
  }
}

/** What a script says to the request that comes after `before` others. */
function answerOf(script: Script | Answerer | undefined, call: Call, before: number): ScriptedAnswer | undefined {
  if (typeof script === 'function') return script(call)
  const { answer, answers = [] } = script ?? {}
  return answer ?? answers[Math.min(before, answers.length - 1)]
}

function notScripted(upstream: string): ScriptedAnswer {
  return { status: 503, body: { error: { message: `no answer of ${upstream} is scripted` } } }
}

function send(response: ServerResponse, { status = 200, headers = {}, body, events }: ScriptedAnswer): void {
  const isText = typeof body === 'string'
  const type = events !== undefined ? 'text/event-stream' : isText ? 'text/plain' : 'application/json'
  response.writeHead(status, { 'content-type': type, ...headers })
  const text = events === undefined ? textOf(body) : events.map(event => `data: ${textOf(event)}\n\n`).join('')
  response.end(text)
}

function textOf(value: Json | undefined): string {
  return value === undefined ? '' : typeof value === 'string' ? value : JSON.stringify(value)
}

async function bodyOf(request: IncomingMessage): Promise<Json> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request) {
    size += (chunk as Buffer).length
    if (size > MAX_REQUEST_BYTES) throw new Error('the request is too large')
    chunks.push(chunk as Buffer)
  }
  return jsonOrText(Buffer.concat(chunks).toString('utf8'))
}

export function jsonOrText(text: string): Json {
  try {
    return JSON.parse(text) as Json
  } catch {
    return text
  }
}
