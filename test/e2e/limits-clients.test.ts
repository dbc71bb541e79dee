import {
  APIError as AnthropicApiError,
  BadRequestError as AnthropicBadRequest,
  PermissionDeniedError as AnthropicPermissionDenied,
  RateLimitError as AnthropicRateLimit,
} from '@anthropic-ai/sdk'
import { ApiError } from '@google/genai'
import { CohereError } from 'cohere-ai'
import { APIError, BadRequestError, PermissionDeniedError, RateLimitError } from 'openai'
import t, { type Test } from 'tap'
import { chatEvent, chunk, hang, startStream } from '../helpers/answers.js'
import { canary } from '../helpers/canaries.js'
import { CHAT, startTestGateway, type TestGateway, upstreamYaml } from '../helpers/gateway.js'
import { connectRaw, requestBytes } from '../helpers/raw-client.js'
import { startRawUpstream } from '../helpers/raw-upstream.js'
import { OPERATIONS, type Operation } from './clients/operations.js'

/** Each operation of the shipped file, by the official SDK of its family, against each kind of bound. */

type Class = new (...args: never[]) => Error

/** A bound that a key of its own has, and how the families say that it is met. */
interface Kind {
  readonly name: string
  /** Words of the key, in YAML. */
  readonly words: string
  /** Requests that fit before the one that does not. */
  readonly fits?: number
  readonly status: number
  readonly compatible: Class
  readonly messages: Class
  readonly of?: (operation: Operation) => boolean
}

const RATE = { status: 429, compatible: RateLimitError, messages: AnthropicRateLimit }
const FORBIDDEN = { status: 403, compatible: PermissionDeniedError, messages: AnthropicPermissionDenied }

const KINDS: readonly Kind[] = [
  { name: 'requests', words: 'limits: { requests: 1/day }', fits: 1, ...RATE },
  { name: 'budget', words: 'limits: { budget: 1.50 USD/day }', fits: 1, ...RATE },
  { name: 'tokens', words: 'limits: { tokens: 4/day }', ...RATE, of: ({ tokens }) => tokens },
  { name: 'in_flight', words: 'limits: { in_flight: 1 }', ...RATE },
  { name: 'streams', words: 'limits: { streams: 1 }', ...RATE, of: ({ name }) => name.includes('stream') },
  { name: 'routes', words: 'routes: ["GET /v1/models"]', ...FORBIDDEN },
  { name: 'networks', words: 'networks: [203.0.113.0/24]', ...FORBIDDEN },
  { name: 'body', words: 'limits: { body: 16 }', status: 413, compatible: APIError, messages: AnthropicApiError },
  {
    ...{ name: 'max_output', words: 'limits: { max_output: 8 }', status: 400, of: ({ bounded }) => bounded },
    ...{ compatible: BadRequestError, messages: AnthropicBadRequest },
  },
]

/** Each pair of a kind and an operation has a key of its own. */
const PAIRS = KINDS.flatMap(kind =>
  OPERATIONS.filter(kind.of ?? (() => true)).map(operation => ({ kind, operation, variable: '' })),
).map((pair, index) => ({ ...pair, variable: `KEY_${index}` }))

const SECRETS: Readonly<Record<string, string>> = Object.fromEntries(
  PAIRS.map(({ variable }) => [variable, canary('caller')] as const),
)

async function running(t: Test): Promise<{ gateway: TestGateway; occupy: (key: string) => Promise<void> }> {
  const upstream = await startRawUpstream(t)
  const keys = PAIRS.map(
    ({ kind, variable }) => `  ${variable}: { secret: { env: ${variable} }, models: ["*"], ${kind.words} }`,
  )
  const models = [...new Set(OPERATIONS.map(({ model }) => model))]
  const yaml = `version: 1
keys:
${keys.join('\n')}
upstreams: { sim: { kind: simulator }, slow: ${upstreamYaml(upstream.origin)} }
models:
  m: slow
${models.map(model => `  ${model}: sim`).join('\n')}
prices:
  m: { request: 0 }
${models.map(model => `  ${model}: { request: 1.00 }`).join('\n')}
`
  const gateway = await startTestGateway(t, yaml, { env: SECRETS })
  return {
    gateway,
    async occupy(key) {
      upstream.answer(async peer => {
        await startStream(peer)
        await peer.send(chunk(chatEvent('hello')))
        await hang(peer)
      })
      const client = await connectRaw(t, gateway.origin)
      await client.send(requestBytes(gateway.origin, '/v1/chat/completions', { key, body: { ...CHAT, stream: true } }))
      await client.body(await client.head(), body => body.includes('hello'))
    },
  }
}

/** What an SDK throws. */
async function thrown(run: Promise<unknown>): Promise<unknown> {
  return run.then(
    () => undefined,
    (error: unknown) => error,
  )
}

function classOf({ family, name }: Operation, kind: Kind): Class {
  if (name.startsWith('rerank')) return CohereError
  if (family === 'native') return ApiError
  if (family === 'messages') return kind.name === 'budget' ? AnthropicApiError : kind.messages
  return kind.compatible
}

t.test('F-A8 every operation meets every kind of bound, and its SDK throws its own error', async t => {
  const { gateway, occupy } = await running(t)
  for (const { kind, operation, variable } of PAIRS) {
    await t.test(`${kind.name}: ${operation.name}`, async t => {
      const key = SECRETS[variable] ?? ''
      const asked = { origin: gateway.origin, key }
      if (kind.name === 'in_flight' || kind.name === 'streams') await occupy(key)
      for (let fit = 0; fit < (kind.fits ?? 0); fit++) await operation.run(asked, operation.model)
      const error = await thrown(operation.run(asked, operation.model))
      t.ok(error instanceof classOf(operation, kind), `${error}`)
      const { status, statusCode } = (error ?? {}) as { status?: number; statusCode?: number }
      t.equal(status ?? statusCode, kind.name === 'budget' && operation.family === 'messages' ? 402 : kind.status)
    })
  }
})
