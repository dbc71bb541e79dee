import { once } from 'node:events'
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, request as httpRequest, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Bin, start } from '../cli/bin.js'
import { ADMIN_SECRET } from './admin.js'
import { CHAT_ANSWER } from './answers.js'
import { freePort } from './store-servers.js'

type Test = Parameters<typeof start>[0]

export const KEY = 'caller-key-of-the-workers-0123456789'
const BODY = JSON.stringify({ model: 'm', max_tokens: 1, messages: [{ role: 'user', content: 'hi' }] })

/** An upstream that answers at once, or holds requests back until `release`. */
export interface HoldingUpstream {
  readonly origin: string
  /** Requests that it has received. */
  received: number
  isHolding: boolean
  /** Answers what it holds, and from now on at once. */
  release(): void
}

export async function startHoldingUpstream(t: Test): Promise<HoldingUpstream> {
  const held: ServerResponse[] = []
  const answer = (response: ServerResponse): void => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(CHAT_ANSWER))
  }
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      upstream.received++
      if (upstream.isHolding) held.push(response)
      else answer(response)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  const upstream: HoldingUpstream = {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received: 0,
    isHolding: false,
    release() {
      upstream.isHolding = false
      for (const response of held.splice(0)) answer(response)
    },
  }
  return upstream
}

/** Two workers, one key with limits, one model `m` that costs a cent. */
export function workersYaml(
  { origin }: Pick<HoldingUpstream, 'origin'>,
  more = '',
  limits = 'budget: 100 USD/total, in_flight: 1000',
): string {
  return `keys:
  caller: { secret: { env: CALLER_KEY }, models: ["*"], limits: { ${limits} } }
upstreams:
  up: { kind: openai-compatible, base: "${origin}", secret: { env: CALLER_KEY } }
models:
  m: up
prices: { m: { request: 0.01 } }
retry: { attempts: 1 }
workers: 2
${more}`
}

interface WorkerState {
  readonly number: number
  readonly pid: number
  readonly generation: number
  readonly requests: number
}

/** `gateway serve` with several workers, as processes. */
export class WorkingGateway {
  readonly bin: Bin
  readonly folder: string
  readonly port: number
  readonly #adminPort: number

  /** Waits until all workers serve. `yaml` without `version`, `listen` and `admin`. */
  static async start(t: Test, yaml: string, args: readonly string[] = []): Promise<WorkingGateway> {
    const [port, adminPort] = [await freePort(), await freePort()]
    const gateway = new WorkingGateway(t, yaml, args, { port, adminPort })
    await gateway.bin.until(/"all workers serve"/)
    await gateway.bin.until(/listening on/)
    return gateway
  }

  private constructor(t: Test, yaml: string, args: readonly string[], ports: { port: number; adminPort: number }) {
    this.folder = mkdtempSync(join(tmpdir(), 'gateway-workers-'))
    t.teardown(() => rmSync(this.folder, { recursive: true, maxRetries: 20 }))
    this.port = ports.port
    this.#adminPort = ports.adminPort
    this.write(yaml)
    const env = { CALLER_KEY: KEY, GATEWAY_ADMIN_KEY: ADMIN_SECRET }
    this.bin = start(t, ['serve', ...args], { cwd: this.folder, env, bare: true })
  }

  /** A new file, at once. */
  write(yaml: string): void {
    const file = join(this.folder, 'gateway.yaml')
    const head = `version: 1\nlisten: { port: ${this.port} }\nadmin: { port: ${this.#adminPort} }\n`
    writeFileSync(`${file}.new`, head + yaml)
    renameSync(`${file}.new`, file)
  }

  get origin(): string {
    return `http://127.0.0.1:${this.port}`
  }

  get adminOrigin(): string {
    return `http://127.0.0.1:${this.#adminPort}`
  }

  /** A request on a connection of its own: its status, or why there was none. */
  chat(): Promise<number | string> {
    return new Promise(resolve => {
      const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' }
      const at = { host: '127.0.0.1', port: this.port, path: '/v1/chat/completions', agent: false }
      const sent = httpRequest({ ...at, method: 'POST', headers }, response => {
        response.resume().on('end', () => resolve(response.statusCode ?? 0))
        response.on('error', error => resolve(error.message))
      })
      sent.on('error', error => resolve(error.message))
      sent.end(BODY)
    })
  }

  /** A request on a connection of its own, with its whole answer. */
  async ask(method: string, path: string, body?: object): Promise<{ readonly status: number; readonly text: string }> {
    const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json', connection: 'close' }
    const sent = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) }
    const answer = await fetch(`${this.origin}${path}`, sent)
    return { status: answer.status, text: await answer.text() }
  }

  async admin<T>(method: string, path: string, body?: object): Promise<T> {
    const headers = { authorization: `Bearer ${ADMIN_SECRET}`, connection: 'close' }
    const sent = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) }
    const answer = await fetch(`${this.adminOrigin}${path}`, sent)
    return (await answer.json()) as T
  }

  async workers(): Promise<readonly WorkerState[]> {
    return (await this.admin<{ data: readonly WorkerState[] }>('GET', '/admin/workers')).data
  }

  /** Sends requests until each worker holds some: their answers. */
  async occupy(upstream: HoldingUpstream, least: number): Promise<Promise<number | string>[]> {
    upstream.isHolding = true
    const answers: Promise<number | string>[] = []
    for (;;) {
      answers.push(this.chat(), this.chat())
      await until(() => upstream.received >= answers.length)
      const states = await this.workers()
      if (states.length > 1 && states.every(({ requests }) => requests > 0) && answers.length >= least) return answers
      if (answers.length > 200) throw new Error('one worker gets all requests')
    }
  }

  logged(message: string): readonly Record<string, unknown>[] {
    // The last one may have come in part.
    const whole = this.bin.stderr.split('\n').slice(0, -1)
    const lines = whole.filter(line => line.includes(`"msg":"${message}"`))
    return lines.map(line => JSON.parse(line) as Record<string, unknown>)
  }
}

/** Waits for a condition; the test's own time limit ends it. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise(resolve => setTimeout(resolve, 5))
}
