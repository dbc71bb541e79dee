import { join } from 'node:path'
import OpenAI from 'openai'
import { OpenAIRealtimeError } from 'openai/realtime/internal-base'
import { OpenAIRealtimeWS } from 'openai/realtime/ws'
import type { RealtimeServerEvent } from 'openai/resources/realtime/realtime'
import { WebSocketError } from 'openai/resources/responses/internal-base'
import type { ResponsesServerEvent } from 'openai/resources/responses/responses'
import { ResponsesWS } from 'openai/resources/responses/ws'
import t, { type Test } from 'tap'
import { packageRoot } from '../../src/core/package-root.js'
import { canary } from '../helpers/canaries.js'
import { startTestGateway, type TestGateway } from '../helpers/gateway.js'
import { Journal } from '../helpers/journal.js'

/** The routes that only WebSockets reach, by the official client, into each kind of bound. */

interface Kind {
  readonly name: string
  /** Words of the key, in YAML. */
  readonly words: string
  /** Of a refused handshake, and of a refused message, which also has a code. */
  readonly status: number
  readonly code: string
  /** Sessions or responses that fit before the one that does not. */
  readonly fits?: number
  /** What fits must not end. */
  readonly isAtOnce?: true
}

const FORBIDDEN = { status: 403, code: 'forbidden' }
const RATE = { status: 429, code: 'rate_limit_exceeded' }

const KINDS: readonly Kind[] = [
  { name: 'routes', words: 'routes: ["GET /v1/models"]', ...FORBIDDEN },
  { name: 'networks', words: 'networks: [203.0.113.0/24]', ...FORBIDDEN },
  { name: 'requests', words: 'limits: { requests: 1/day }', fits: 1, ...RATE },
  { name: 'tokens', words: 'limits: { tokens: 4/day }', ...RATE },
  { name: 'in_flight', words: 'limits: { in_flight: 1 }', fits: 1, isAtOnce: true, ...RATE },
  { name: 'streams', words: 'limits: { streams: 1 }', fits: 1, isAtOnce: true, ...RATE },
  { name: 'budget', words: 'limits: { budget: 0.50 USD/day }', status: 429, code: 'insufficient_quota' },
]

const SECRETS = Object.fromEntries(KINDS.map(({ name }) => [`KEY_${name.toUpperCase()}`, canary('caller')]))
const SHORT = canary('caller')
const secretOf = ({ name }: Kind): string => SECRETS[`KEY_${name.toUpperCase()}`] ?? ''

/** The official client of realtime speaks TLS only. */
async function started(t: Test): Promise<TestGateway> {
  const keys = KINDS.map(
    ({ name, words }) => `  ${name}: { secret: { env: KEY_${name.toUpperCase()} }, models: ["*"], ${words} }`,
  )
  const tls = (name: string): string => join(packageRoot(), 'test/fixtures/tls', name)
  return startTestGateway(
    t,
    `version: 1
listen: { tls: { cert: "${tls('first.pem')}", key: "${tls('first.key')}" } }
store: { type: memory }
keys:
${keys.join('\n')}
  short: { secret: { env: KEY_SHORT }, models: ["*"], limits: { max_output: 4096, tokens: 20480/day } }
upstreams: { sim: { kind: simulator } }
models: { sim-realtime: sim, sim-responses: sim, "sim-responses?*": sim }
prices: { "*": { input: 1000, output: 1000, request: 1.00 } }
`,
    { env: { ...SECRETS, KEY_SHORT: SHORT } },
  )
}

const sdkOf = ({ origin }: TestGateway, key: string): OpenAI => new OpenAI({ apiKey: key, baseURL: `${origin}/v1` })

/** Opens a session: what it says first, or how it is refused. */
async function session(t: Test, gateway: TestGateway, key: string): Promise<unknown> {
  const socket = new OpenAIRealtimeWS(
    { model: 'sim-realtime', options: { rejectUnauthorized: false } },
    sdkOf(gateway, key),
  )
  t.teardown(() => socket.socket.terminate())
  const found = new Journal<unknown>('events and errors')
  socket.on('event', (event: RealtimeServerEvent) => found.push(event))
  socket.on('error', error => found.push(error))
  return found.find(() => true)
}

t.test('F-A8 sessions meet every kind of bound, and the official client throws its own error', async t => {
  const gateway = await started(t)
  for (const kind of KINDS) {
    await t.test(kind.name, async t => {
      for (let fit = 0; fit < (kind.fits ?? 0); fit++)
        t.match(await session(t, gateway, secretOf(kind)), { type: 'session.created' })
      const error = await session(t, gateway, secretOf(kind))
      t.ok(error instanceof OpenAIRealtimeError, `${error}`)
      t.match(error, { message: `Unexpected server response: ${kind.status}` })
    })
  }
})

t.test('F-A8 a session reserves no more output than max_output allows', async t => {
  const gateway = await started(t)
  t.match(await session(t, gateway, SHORT), { type: 'session.created' })
  t.match(await session(t, gateway, SHORT), { message: 'Unexpected server response: 429' }, 'all 20480 are reserved')
})

/** Asks for one response on a socket of its own: its first event, or the error. */
async function response(t: Test, gateway: TestGateway, key: string, model = 'sim-responses'): Promise<unknown> {
  const socket = new ResponsesWS(sdkOf(gateway, key), { rejectUnauthorized: false })
  t.teardown(() => socket.close())
  const found = new Journal<unknown>('events and errors')
  socket.on('event', (event: ResponsesServerEvent) => {
    if (event.type !== 'error') found.push(event)
  })
  socket.on('error', error => found.push(error))
  socket.send({ type: 'response.create', model, input: 'Say hello.' })
  return found.find(() => true)
}

t.test(
  'F-A8 responses over a WebSocket meet every kind of bound, and the official client throws its own error',
  async t => {
    const gateway = await started(t)
    for (const kind of KINDS) {
      await t.test(kind.name, async t => {
        const model = kind.isAtOnce ? 'sim-responses?hang-after=2' : undefined
        for (let fit = 0; fit < (kind.fits ?? 0); fit++)
          t.match(await response(t, gateway, secretOf(kind), model), { type: 'response.created' })
        const error = await response(t, gateway, secretOf(kind))
        t.ok(error instanceof WebSocketError, `${error}`)
        t.match(error, { error: { status: kind.status, error: { code: kind.code } } })
      })
    }
  },
)
