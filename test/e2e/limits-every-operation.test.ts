import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  APIError as AnthropicApiError,
  PermissionDeniedError as AnthropicPermissionDenied,
  RateLimitError as AnthropicRateLimit,
} from '@anthropic-ai/sdk'
import {
  AccessDeniedException,
  BedrockRuntimeServiceException,
  ThrottlingException,
} from '@aws-sdk/client-bedrock-runtime'
import { ApiError } from '@google/genai'
import { CohereError } from 'cohere-ai'
import { APIError, PermissionDeniedError, RateLimitError } from 'openai'
import t, { type Test } from 'tap'
import { packageRoot } from '../../src/core/package-root.js'
import type { Route } from '../../src/core/plan.js'
import { loadPlan } from '../../src/runtime/load.js'
import { chatEvent, chunk, hang, startStream } from '../helpers/answers.js'
import { canary } from '../helpers/canaries.js'
import { type LogLine, startTestGateway, type TestGateway, upstreamYaml } from '../helpers/gateway.js'
import { connectRaw, requestBytes } from '../helpers/raw-client.js'
import { startRawUpstream } from '../helpers/raw-upstream.js'
import { type Client, EVERY_OPERATION } from './clients/every-operation.js'

/**
 * Every route of the shipped file, by a client that people use, once into each kind of bound that can hold there. The log says
 * which route it was. What a bound of tokens, streams or output means for each operation is in limits-clients.
 */

t.setTimeout(240_000)

type Class = new (...args: never[]) => Error

/** Only WebSockets reach them: limits-sockets has them. */
const SOCKETS = ['WS /v1/responses', 'WS /v1/realtime']

const RATE: Readonly<Record<Client, Class>> = {
  ...{ openai: RateLimitError, anthropic: AnthropicRateLimit, genai: ApiError, cohere: CohereError },
  converse: ThrottlingException,
}
const FORBIDDEN: Readonly<Record<Client, Class>> = {
  ...{ openai: PermissionDeniedError, anthropic: AnthropicPermissionDenied, genai: ApiError, cohere: CohereError },
  converse: AccessDeniedException,
}
const LARGE: Readonly<Record<Client, Class>> = {
  ...{ openai: APIError, anthropic: AnthropicApiError, genai: ApiError, cohere: CohereError },
  converse: BedrockRuntimeServiceException,
}

/** Requests that an upstream may be asked for; the others cost nothing. */
const isCounted = ({ lane, task, model, answer }: Route): boolean =>
  lane === 'exchange' || task?.action === 'submit' || (lane === 'answer' && model !== undefined && answer !== 'model')

interface Kind {
  readonly name: string
  /** Words of the key, in YAML. */
  readonly words: string
  readonly status: number
  readonly classes: Readonly<Record<Client, Class>>
  readonly holds: (route: Route) => boolean
}

const KINDS: readonly Kind[] = [
  {
    ...{ name: 'routes', words: 'routes: ["GET /nothing"]', status: 403, classes: FORBIDDEN },
    // Every key may see what is left of its limits, and what it may do.
    holds: ({ answer }) => answer !== 'usage' && answer !== 'openapi',
  },
  { name: 'networks', words: 'networks: [203.0.113.0/24]', status: 403, classes: FORBIDDEN, holds: () => true },
  { name: 'requests', words: 'limits: { requests: 1/day }', status: 429, classes: RATE, holds: isCounted },
  { name: 'in_flight', words: 'limits: { in_flight: 1 }', status: 429, classes: RATE, holds: isCounted },
  {
    ...{ name: 'body', words: 'limits: { body: 1 }', status: 413, classes: LARGE },
    holds: route => isCounted(route) && route.body !== 'none' && !NO_BODY_IS_READ.has(route.id),
  },
]

/** Posts without a body, and those to an upload: one that does not exist is refused before its body is read. */
const NO_BODY_IS_READ = new Set([
  'POST /v1/uploads/{id}/parts',
  'POST /v1/uploads/{id}/complete',
  'POST /v1/uploads/{id}/cancel',
  'POST /v1/batches/{id}/cancel',
  'POST /v1/messages/batches/{id}/cancel',
  'POST /v1beta/batches/{id}:cancel',
])

const KEYS = new Map(KINDS.map(({ name }) => [name, canary('caller')]))
const variable = (name: string): string => `KEY_${name.toUpperCase()}`
const ENV = Object.fromEntries([...KEYS].map(([name, secret]) => [variable(name), secret]))

/** The shipped file with other keys, and a model that answers slowly. */
async function shipped(
  t: Test,
  more = '',
): Promise<TestGateway & { slow: Awaited<ReturnType<typeof startRawUpstream>> }> {
  const slow = await startRawUpstream(t)
  const keys = KINDS.map(
    ({ name, words }) => `  ${name}: { secret: { env: ${variable(name)} }, models: ["*"], ${words} }`,
  )
  const text = readFileSync(join(packageRoot(), 'gateway.yaml'), 'utf8')
    .replace(/^listen:.*$/m, '')
    .replace(/^store:.*$/m, 'store: { type: memory }')
    .replace(/^ {2}local:.*$/m, keys.join('\n'))
    .replace(/^upstreams:$/m, `upstreams:\n  slow: ${upstreamYaml(slow.origin)}`)
    .replace(/^models:$/m, 'models:\n  slow: slow')
  return Object.assign(await startTestGateway(t, `${text}\n${more}`, { env: ENV }), { slow })
}

/** Takes the one place of a key, until the test ends. */
async function occupy(t: Test, { origin, slow }: Awaited<ReturnType<typeof shipped>>, key: string): Promise<void> {
  slow.answer(async peer => {
    await startStream(peer)
    await peer.send(chunk(chatEvent('hello')))
    await hang(peer)
  })
  const client = await connectRaw(t, origin)
  const body = { model: 'slow', messages: [{ role: 'user', content: 'hello' }], stream: true }
  await client.send(requestBytes(origin, '/v1/chat/completions', { key, body }))
  await client.body(await client.head(), read => read.includes('hello'))
}

const isRequest = ({ route, status }: LogLine): boolean => route !== undefined && status !== undefined

async function thrown(run: Promise<unknown>): Promise<unknown> {
  return run.then(
    () => undefined,
    (error: unknown) => error,
  )
}

t.test('every route of the shipped file has an operation', async t => {
  const { plan } = await loadPlan({ file: join(packageRoot(), 'gateway.yaml'), env: { GATEWAY_KEY: canary('caller') } })
  const routes = (plan?.routes ?? []).map(({ id }) => id)
  t.ok(routes.length > 100)
  t.strictSame([...Object.keys(EVERY_OPERATION), ...SOCKETS].toSorted(), routes.toSorted())
})

t.test(
  'F-A8 every operation of the shipped file meets every kind of bound, and its client throws its own error',
  async t => {
    const stage = await shipped(t)
    const { plan } = stage.gateway
    const used = EVERY_OPERATION['POST /v1/moderations']
    await used?.run({ origin: stage.origin, key: KEYS.get('requests') ?? '' })
    await stage.log.count(1, isRequest)
    await occupy(t, stage, KEYS.get('in_flight') ?? '')
    for (const { name, status, classes, holds } of KINDS) {
      const key = KEYS.get(name) ?? ''
      const routes = plan.routes.filter(route => !SOCKETS.includes(route.id) && holds(route))
      t.ok(routes.length > 0)
      for (const { id } of routes) {
        await t.test(`${name}: ${id}`, async t => {
          const operation = EVERY_OPERATION[id]
          if (operation === undefined) throw new Error('there is no operation')
          const before = stage.log.items.filter(isRequest).length
          const error = await thrown(operation.run({ origin: stage.origin, key }))
          t.ok(error instanceof classes[operation.client], `${error}`)
          const found = (error ?? {}) as {
            status?: number
            statusCode?: number
            $metadata?: { httpStatusCode?: number }
          }
          t.equal(found.status ?? found.statusCode ?? found.$metadata?.httpStatusCode, status)
          const [line] = (await stage.log.count(before + 1, isRequest)).slice(before)
          t.match(line, { route: id, status })
        })
      }
    }
  },
)
