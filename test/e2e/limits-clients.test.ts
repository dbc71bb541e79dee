import { APIError as AnthropicApiError, RateLimitError as AnthropicRateLimit } from '@anthropic-ai/sdk'
import { ApiError } from '@google/genai'
import { CohereError } from 'cohere-ai'
import { RateLimitError } from 'openai'
import t, { type Test } from 'tap'
import { startTestGateway, type TestGateway } from '../helpers/gateway.js'
import { OPERATIONS, type Operation } from './clients/operations.js'

/** Each operation of the shipped file, by the official SDK of its family, against each kind of bound. */

const MODELS = [...new Set(OPERATIONS.map(({ model }) => model))]

/** A gateway on the simulator whose only key has these words of YAML. */
async function limited(t: Test, key: string, more = ''): Promise<TestGateway> {
  const models = MODELS.map(model => `  ${model}: sim`).join('\n')
  return startTestGateway(
    t,
    `version: 1
keys:
  caller: { secret: { env: CALLER_KEY }, models: ["*"], ${key} }
upstreams: { sim: { kind: simulator } }
models:
${models}
${more}
`,
  )
}

/** What an SDK throws. */
async function thrown(run: Promise<unknown>): Promise<unknown> {
  return run.then(
    () => undefined,
    (error: unknown) => error,
  )
}

const STATUS = (error: unknown): number => {
  const { status, statusCode } = error as { status?: number; statusCode?: number }
  return status ?? statusCode ?? 0
}

const CLASSES: Readonly<Record<Operation['family'], new (...args: never[]) => Error>> = {
  compatible: RateLimitError,
  messages: AnthropicRateLimit,
  native: ApiError,
  rerank: CohereError,
}

function classOf(operation: Operation): new (...args: never[]) => Error {
  return operation.name.startsWith('rerank') ? CohereError : CLASSES[operation.family]
}

for (const operation of OPERATIONS) {
  const { name, model } = operation
  t.test(`F-A8 requests: the second within a day is refused: ${name}`, async t => {
    const gateway = await limited(t, 'limits: { requests: 1/day }')
    await operation.run(gateway, model)
    const error = await thrown(operation.run(gateway, model))
    t.ok(error instanceof classOf(operation), `${error}`)
    t.equal(STATUS(error), 429)
  })

  // What tasks cost is settled when they end.
  if (name === 'videos') continue
  t.test(`F-A8 budget: what the first request has cost is not there for the second: ${name}`, async t => {
    const gateway = await limited(t, 'limits: { budget: 1 USD/day }', `prices: { ${model}: { request: 1.00 } }`)
    await operation.run(gateway, model)
    const error = await thrown(operation.run(gateway, model))
    const isMessages = operation.family === 'messages'
    t.ok(error instanceof (isMessages ? AnthropicApiError : classOf(operation)), `${error}`)
    t.equal(STATUS(error), isMessages ? 402 : 429)
  })
}
