import Anthropic from '@anthropic-ai/sdk'
import { type Content, GoogleGenAI } from '@google/genai'
import OpenAI from 'openai'
import t, { type Test } from 'tap'
import { proveNoLeak } from '../helpers/canaries.js'
import { CALLER, startTestGateway, type TestGateway } from '../helpers/gateway.js'
import { type OpenApiName, openApi, openApiFolder } from '../helpers/openapi.js'
import type { Answer } from '../helpers/raw-client.js'

/** Tokens counted without an answer, by each family that asks for it, before an upstream of each text protocol. */

const YAML = `version: 1
${CALLER}
upstreams:
  chat: { kind: simulator-chat }
  responses: { kind: simulator-responses }
  messages: { kind: simulator-messages, traits: { max_output: 16000 } }
  generate: { kind: simulator-generate }
  converse: { kind: simulator-converse }
models:
  chat: { upstream: chat, as: sim-text }
  responses: { upstream: responses, as: sim-responses }
  messages: { upstream: messages, as: sim-messages }
  generate: { upstream: generate, as: sim-generate }
  converse: { upstream: converse, as: sim-converse }
  strict: { targets: [{ upstream: messages, as: sim-messages }], strict: true }
  busy-responses: { upstream: responses, as: "sim-responses?status=429&retry-after=2" }
  busy-messages: { upstream: messages, as: "sim-messages?status=429&retry-after=2" }
  busy-generate: { upstream: generate, as: "sim-generate?status=429&retry-after=2" }
`

const UPSTREAMS = ['chat', 'responses', 'messages', 'generate', 'converse']
/** They count nothing. Clients of these two ask for no counts either. */
const ESTIMATED = ['chat', 'converse']

/** What is counted, however a family writes it. */
interface Question {
  readonly text: string
  readonly system?: string
  readonly tool?: boolean
  readonly image?: string
}

const SCHEMA = { type: 'object', properties: { city: { type: 'string', description: 'A city' } }, required: ['city'] }
const TOOL = { name: 'get_weather', description: 'Tells of the weather in a city, at length.' }
const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC'

/** One family: its library, and its request on a bare connection. */
interface Family {
  readonly protocol: 'messages' | 'responses' | 'generate'
  readonly document: OpenApiName
  count(gateway: TestGateway, model: string, question: Question): Promise<number | undefined>
  ask(gateway: TestGateway, model: string, question: Question): Promise<Answer>
  tokens(body: unknown): number | undefined
}

const messagesBody = (model: string, { text, system, tool, image }: Question) => ({
  model,
  ...(system !== undefined && { system }),
  ...(tool === true && { tools: [{ ...TOOL, input_schema: { ...SCHEMA, type: 'object' as const } }] }),
  messages: [
    {
      role: 'user' as const,
      content: [
        { type: 'text' as const, text },
        ...(image === undefined
          ? []
          : [
              {
                type: 'image' as const,
                source: { type: 'base64' as const, media_type: 'image/png' as const, data: image },
              },
            ]),
      ],
    },
  ],
})

const messages: Family = {
  protocol: 'messages',
  document: 'messages-count.response',
  count: async ({ origin, key }, model, question) => {
    const sdk = new Anthropic({ apiKey: key, baseURL: origin, maxRetries: 0 })
    return (await sdk.messages.countTokens(messagesBody(model, question))).input_tokens
  },
  ask: ({ request, key }, model, question) =>
    request('/v1/messages/count_tokens', { headers: { 'x-api-key': key }, body: messagesBody(model, question) }),
  tokens: body => (body as { input_tokens?: number }).input_tokens,
}

const responsesBody = (model: string, { text, system, tool, image }: Question) => ({
  model,
  ...(system !== undefined && { instructions: system }),
  ...(tool === true && { tools: [{ type: 'function' as const, ...TOOL, parameters: SCHEMA, strict: false }] }),
  input: [
    {
      role: 'user' as const,
      content: [
        { type: 'input_text' as const, text },
        ...(image === undefined
          ? []
          : [
              {
                type: 'input_image' as const,
                detail: 'auto' as const,
                image_url: `data:image/png;base64,${image}`,
              },
            ]),
      ],
    },
  ],
})

const responses: Family = {
  protocol: 'responses',
  document: 'responses-count.response',
  count: async ({ origin, key }, model, question) => {
    const sdk = new OpenAI({ apiKey: key, baseURL: `${origin}/v1`, maxRetries: 0 })
    return (await sdk.responses.inputTokens.count(responsesBody(model, question))).input_tokens
  },
  ask: ({ request }, model, question) =>
    request('/v1/responses/input_tokens', { body: responsesBody(model, question) }),
  tokens: body => (body as { input_tokens?: number }).input_tokens,
}

const contentsOf = ({ text, image }: Question): Content[] => [
  {
    role: 'user',
    parts: [{ text }, ...(image === undefined ? [] : [{ inlineData: { mimeType: 'image/png', data: image } }])],
  },
]

const generate: Family = {
  protocol: 'generate',
  document: 'generate-count.response',
  // The library refuses to count instructions and tools here; the protocol does not.
  count: async ({ origin, key }, model, question) => {
    const sdk = new GoogleGenAI({ apiKey: key, httpOptions: { baseUrl: origin } })
    return (await sdk.models.countTokens({ model, contents: contentsOf(question) })).totalTokens
  },
  ask: ({ request, key }, model, question) => {
    const { system, tool } = question
    const whole = {
      model: `models/${model}`,
      contents: contentsOf(question),
      ...(system !== undefined && { systemInstruction: { parts: [{ text: system }] } }),
      ...(tool === true && { tools: [{ functionDeclarations: [{ ...TOOL, parametersJsonSchema: SCHEMA }] }] }),
    }
    const body =
      system === undefined && tool === undefined ? { contents: whole.contents } : { generateContentRequest: whole }
    return request(`/v1beta/models/${model}:countTokens`, { headers: { 'x-goog-api-key': key }, body })
  },
  tokens: body => (body as { totalTokens?: number }).totalTokens,
}

const FAMILIES = [messages, responses, generate]

async function counted(
  t: Test,
  family: Family,
  gateway: TestGateway,
  model: string,
  question: Question,
): Promise<number> {
  const answer = await family.ask(gateway, model, question)
  t.equal(answer.status, 200, answer.text)
  if (openApiFolder() !== undefined) t.same(openApi(family.document)(answer.json()), [], answer.text)
  // Anyone who reads the number is told where it is not a count.
  t.equal(answer.header('x-gateway-estimated'), ESTIMATED.includes(model) ? 'input_tokens' : undefined)
  t.equal(answer.header('x-gateway-dropped'), undefined)
  const tokens = family.tokens(answer.json())
  t.ok(Number.isInteger(tokens) && (tokens ?? 0) > 0, `${tokens} tokens`)
  return tokens ?? 0
}

t.setTimeout(120_000)

t.test('counts', async t => {
  const gateway = await startTestGateway(t, YAML)
  const text = 'How warm is it in the city of Bergen today?'
  for (const family of FAMILIES) {
    for (const model of UPSTREAMS) {
      await t.test(`${family.protocol} ← ${model}: all that is read counts, in the library's own terms`, async t => {
        const short = await counted(t, family, gateway, model, { text })
        t.equal(await family.count(gateway, model, { text }), short, 'the library reads the same')
        t.equal(await counted(t, family, gateway, model, { text }), short, 'the same request counts the same')
        const more: readonly Question[] = [
          { text: text.repeat(50) },
          { text, system: 'Answer in the style of a sailor who has seen it all.' },
          { text, tool: true },
          { text, image: PNG },
        ]
        for (const question of more)
          t.ok((await counted(t, family, gateway, model, question)) > short, JSON.stringify(question).slice(0, 80))
      })
    }
  }

  await t.test('every family counts alike at one upstream', async t => {
    for (const model of UPSTREAMS) {
      const counts = await Promise.all(FAMILIES.map(family => counted(t, family, gateway, model, { text })))
      t.equal(new Set(counts).size, 1, `${model}: ${counts}`)
    }
  })

  await t.test('an estimate asks no one, and its log line says no upstream', async t => {
    for (const model of ESTIMATED) {
      const answer = await messages.ask(gateway, model, { text })
      const line = await gateway.log.find(({ msg, id }) => msg === 'request' && id === answer.header('x-request-id'))
      t.match(line, { status: 200, outcome: 'ok', model })
      t.equal(line.upstream, undefined)
    }
  })

  for (const family of FAMILIES) {
    for (const model of ['responses', 'messages', 'generate']) {
      await t.test(`${family.protocol} ← ${model}: a refusal is the family's own`, async t => {
        const answer = await family.ask(gateway, `busy-${model}`, { text })
        t.equal(answer.status, 429)
        if (family.protocol === model) return
        t.equal(answer.header('retry-after'), '2')
        const { error } = answer.json() as { error: { type?: string; code?: string | number; status?: string } }
        const word = { messages: error.type, responses: error.code, generate: error.status }
        const words = {
          messages: 'rate_limit_error',
          responses: 'rate_limit_exceeded',
          generate: 'RESOURCE_EXHAUSTED',
        }
        t.equal(word[family.protocol], words[family.protocol])
      })
    }
  }
})

t.test('what a count misses', async t => {
  const gateway = await startTestGateway(t, YAML)
  const count = (model: string, more: object) =>
    gateway.request(`/v1beta/models/${model}:countTokens`, {
      headers: { 'x-goog-api-key': gateway.key },
      body: { generateContentRequest: { model: `models/${model}`, ...more } },
    })
  const audio = { inlineData: { mimeType: 'audio/wav', data: 'UklGRiQAAABXQVZF' } }

  await t.test('what could not be asked is not counted either, and the error names it', async t => {
    const answer = await count('messages', { contents: [{ role: 'user', parts: [{ text: 'What is said?' }, audio] }] })
    t.equal(answer.status, 400)
    t.match(answer.json(), { error: { status: 'INVALID_ARGUMENT', message: /'contents\[0\]\.parts\[1\]'/ } })
  })

  await t.test('what is left out of the prompt is named, and no error where nothing may be lost', async t => {
    const code = { executableCode: { language: 'PYTHON', code: 'print(1)' } }
    const outcome = { codeExecutionResult: { outcome: 'OUTCOME_OK', output: '1' } }
    const contents = [
      { role: 'user', parts: [{ text: 'How much is it?' }] },
      { role: 'model', parts: [{ text: 'Wait.' }, code, outcome, { text: 'One.' }] },
      { role: 'user', parts: [{ text: 'And now?' }] },
    ]
    for (const model of ['messages', 'strict']) {
      const answer = await count(model, { contents })
      t.equal(answer.status, 200, answer.text)
      t.match(answer.header('x-gateway-dropped'), /^contents\[1\]\.parts\[1\]/)
    }
  })

  await t.test('settings change no count', async t => {
    const settings = { generationConfig: { temperature: 2, topK: 7, seed: 1, stopSequences: ['x'] } }
    const contents = [{ role: 'user', parts: [{ text: 'Hello.' }] }]
    for (const model of ['messages', 'responses', 'strict']) {
      const [plain, set] = [await count(model, { contents }), await count(model, { contents, ...settings })]
      t.equal(set.text, plain.text)
      t.equal(set.header('x-gateway-dropped'), undefined)
    }
  })
})

proveNoLeak(t)
