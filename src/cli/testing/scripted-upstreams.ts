import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { parseDuration } from '../../config/units.js'
import type { Json } from '../../core/json.js'
import { openSimulator } from '../../runtime/embedded.js'
import { textOfRequest } from '../../runtime/request-text.js'
import { answerHandshake } from './scripted-session.js'
import type { Script, ScriptedAnswer } from './test-file.js'
import { virtualPause } from './virtual-clock.js'

/** Largest request that a scripted upstream keeps. */
const MAX_REQUEST_BYTES = 64 * 1024 * 1024

/** A request that a scripted upstream got. */
export interface Call {
  readonly upstream: string
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, Json>>
  /** JSON where it is some, else text; of a WebSocket the list of what its client sent. */
  readonly body: Json
}

/** Decides an answer by the request. */
export type Answerer = (call: Call) => ScriptedAnswer

/** All upstreams of one test: a server on loopback, where each has a prefix of its own. */
export class ScriptedUpstreams {
  readonly calls: Call[] = []
  readonly #scripts: Readonly<Record<string, Script | Answerer>>
  readonly #onCall: () => void
  readonly #server = createServer((request, response) => {
    this.#answer(request, response).catch(() => response.destroy())
  })
  readonly #sockets = new Set<Duplex>()
  /** It answers for upstreams whose script says so. */
  #simulator: Awaited<ReturnType<typeof openSimulator>> | undefined

  constructor(scripts: Readonly<Record<string, Script | Answerer>>, onCall: () => void = () => undefined) {
    this.#scripts = scripts
    this.#onCall = onCall
  }

  async start(): Promise<void> {
    this.#server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      this.#open(request, socket, head).catch(() => socket.destroy())
    })
    if (Object.keys(this.#scripts).some(upstream => this.#isSimulated(upstream)))
      this.#simulator = await openSimulator()
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
  }

  #isSimulated(upstream: string): boolean {
    const script = this.#scripts[upstream]
    return typeof script === 'object' && script.simulator !== undefined
  }

  /** The address in place of the upstream's own, with the same prefix of its calls; the simulator has none. */
  baseOf(upstream: string, base: string): string {
    if (this.#simulator !== undefined && this.#isSimulated(upstream)) return this.#simulator.origin
    const { port } = this.#server.address() as AddressInfo
    const { pathname } = new URL(base)
    return `http://127.0.0.1:${port}/${upstream}${pathname.replace(/\/$/, '')}`
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections()
    for (const socket of this.#sockets) socket.destroy()
    this.#server.close()
    await once(this.#server, 'close')
    await this.#simulator?.close()
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chosen = await this.#chosen(request, jsonOrText(await textOfRequest(request, MAX_REQUEST_BYTES)))
    if (chosen.fault === 'reset') response.destroy()
    else if (chosen.fault !== 'hang') send(response, chosen)
  }

  async #open(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    this.#sockets.add(socket)
    socket.once('close', () => this.#sockets.delete(socket))
    const messages: Json[] = []
    const chosen = await this.#chosen(request, messages)
    if (chosen.fault === 'reset') socket.destroy()
    else if (chosen.fault !== 'hang') answerHandshake({ request, socket, head, messages }, chosen)
  }

  /** Notes the call, and finds its answer once its time has come. */
  async #chosen(request: IncomingMessage, body: Json): Promise<ScriptedAnswer> {
    const [, upstream = '', ...rest] = (request.url ?? '').split('/')
    const before = this.calls.filter(call => call.upstream === upstream).length
    const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]))
    const call = { upstream, method: request.method ?? '', path: `/${rest.join('/')}`, headers, body }
    this.calls.push(call)
    this.#onCall()
    const chosen = answerOf(this.#scripts[upstream], call, before) ?? notScripted(upstream)
    if (chosen.after !== undefined) await virtualPause(parseDuration(chosen.after) ?? 0)
    return chosen
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

/** Statuses from here on are failures, and perhaps tried again after a pause. */
const FIRST_FAILURE = 400

/** Whether upstreams take time, or make the gateway wait: that time is virtual. */
export function takesTime(scripts: Readonly<Record<string, Script>>): boolean {
  const all = Object.values(scripts).flatMap(({ answer, answers = [] }) => (answer === undefined ? answers : [answer]))
  return (
    Object.values(scripts).some(({ simulator }) => simulator?.status !== undefined) ||
    all.some(({ after, fault, status = 200 }) => after !== undefined || fault !== undefined || status >= FIRST_FAILURE)
  )
}

function send(response: ServerResponse, { status = 200, headers = {}, body, events, fault }: ScriptedAnswer): void {
  const isText = typeof body === 'string'
  const type = events !== undefined ? 'text/event-stream' : isText ? 'text/plain' : 'application/json'
  response.writeHead(status, { 'content-type': type, ...headers })
  const text = events === undefined ? textOf(body) : events.map(event => `data: ${textOf(event)}\n\n`).join('')
  if (fault === 'stall') response.write(text)
  // What was written leaves before the connection breaks.
  else if (fault === 'cut') response.write(text, () => response.destroy())
  else response.end(text)
}

function textOf(value: Json | undefined): string {
  return value === undefined ? '' : typeof value === 'string' ? value : JSON.stringify(value)
}

export function jsonOrText(text: string): Json {
  try {
    return JSON.parse(text) as Json
  } catch {
    return text
  }
}
