import Anthropic from '@anthropic-ai/sdk'
import { ApiError, FunctionCallingConfigMode, GoogleGenAI, type Part, ThinkingLevel } from '@google/genai'
import OpenAI from 'openai'
import t from 'tap'
import type { Simulator } from '../../simulator/src/index.js'
import { sdk, simulator } from './support.js'

const CITY = { type: 'object' as const, properties: { city: { type: 'string' } }, required: ['city'] }
const PIXEL = Buffer.alloc(68).toString('base64')

function messages({ origin }: Simulator): Anthropic {
  return new Anthropic({ apiKey: 'none needed', authToken: null, baseURL: origin, maxRetries: 0 })
}

function native({ origin }: Simulator): GoogleGenAI {
  return new GoogleGenAI({ apiKey: 'none needed', httpOptions: { baseUrl: origin } })
}

function failure(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => undefined,
    (error: unknown) => error,
  )
}

t.test('message blocks: an answer, and a stream that adds up to it', async t => {
  const client = messages(await simulator(t))
  const request = { model: 'sim-messages', max_tokens: 100, messages: [{ role: 'user' as const, content: 'Hello' }] }
  const whole = await client.messages.create(request)
  const streamed = await client.messages.stream(request).finalMessage()
  t.match(whole.content, [{ type: 'text', text: /^You said: "Hello"/ }])
  t.same(streamed.content, whole.content)
  t.match(streamed, { stop_reason: 'end_turn', usage: { output_tokens: whole.usage.output_tokens } })
  t.match(whole._request_id, /^req_/)
})

t.test('message blocks: a tool loop with thinking, streamed', async t => {
  const client = messages(await simulator(t))
  const asked = {
    model: 'sim-messages',
    max_tokens: 4096,
    thinking: { type: 'enabled' as const, budget_tokens: 2048 },
    tools: [
      { name: 'get_weather', input_schema: CITY },
      { name: 'get_time', input_schema: { type: 'object' as const } },
    ],
  }
  const history: Anthropic.MessageParam[] = [{ role: 'user', content: 'get_time, get_weather city=Oslo' }]
  const first = await client.messages.stream({ ...asked, messages: history }).finalMessage()
  t.match(first.content, [
    { type: 'thinking', signature: String },
    { type: 'tool_use', name: 'get_time', input: {} },
    { type: 'tool_use', name: 'get_weather', input: { city: 'Oslo' } },
  ])
  const results = first.content.flatMap(block =>
    block.type === 'tool_use'
      ? [{ type: 'tool_result' as const, tool_use_id: block.id, content: `${block.name}!` }]
      : [],
  )
  history.push({ role: 'assistant', content: first.content }, { role: 'user', content: results })
  const second = await client.messages.stream({ ...asked, messages: history }).finalMessage()
  t.match(second.content.at(-1), { type: 'text', text: /"get_time!".*"get_weather!"/ })
})

t.test('message blocks: an image, counting, models, and errors as the SDK knows them', async t => {
  const client = messages(await simulator(t))
  const source = { type: 'base64' as const, media_type: 'image/png' as const, data: PIXEL }
  const content = [{ type: 'image' as const, source }]
  const request = { model: 'sim-messages', messages: [{ role: 'user' as const, content }] }
  const seen = await client.messages.create({ ...request, max_tokens: 100 })
  t.match(seen.content[0], { text: /I see 1 image \(image\/png, 68 bytes\)/ })
  t.match(await client.messages.countTokens(request), { input_tokens: seen.usage.input_tokens })
  const models = await client.models.list()
  t.same(
    models.data.map(({ id }) => id),
    ['sim-messages'],
  )
  const ask = (model: string) => client.messages.create({ ...request, model, max_tokens: 100 })
  t.ok((await failure(ask('other?status=404'))) instanceof Anthropic.NotFoundError)
  t.ok((await failure(ask('sim-messages?status=429'))) instanceof Anthropic.RateLimitError)
  t.ok((await failure(ask('sim-messages?status=529'))) instanceof Anthropic.InternalServerError)
  const broken = client.messages.stream({ ...request, model: 'sim-messages?error-after=4', max_tokens: 100 })
  const error = await failure(broken.finalMessage())
  t.ok(error instanceof Anthropic.APIError)
  t.match((error as Error).message, 'api_error')
})

t.test('native: an answer, and a stream that adds up to it', async t => {
  const { models } = native(await simulator(t))
  const request = { model: 'sim-generate', contents: 'Hello' }
  const whole = await models.generateContent(request)
  t.match(whole.text, /^You said: "Hello"/)
  let text = ''
  let total: number | undefined
  for await (const chunk of await models.generateContentStream(request)) {
    text += chunk.text ?? ''
    total = chunk.usageMetadata?.totalTokenCount
  }
  t.equal(text, whole.text)
  t.equal(total, whole.usageMetadata?.totalTokenCount)
})

t.test('native: a chat with tools and thoughts, whose signatures the SDK keeps', async t => {
  const { chats } = native(await simulator(t))
  const config = {
    tools: [{ functionDeclarations: [{ name: 'get_weather', parametersJsonSchema: CITY }, { name: 'get_time' }] }],
    thinkingConfig: { thinkingLevel: ThinkingLevel.LOW, includeThoughts: true },
  }
  for (const stream of [false, true]) {
    const chat = chats.create({ model: 'sim-generate', config })
    const send = async (message: string | Part[]) => {
      if (!stream) return [await chat.sendMessage({ message })]
      const chunks = []
      for await (const chunk of await chat.sendMessageStream({ message })) chunks.push(chunk)
      return chunks
    }
    const first = await send('get_time, get_weather city=Oslo')
    const calls = first.flatMap(chunk => chunk.functionCalls ?? [])
    t.match(calls, [
      { name: 'get_time', args: {} },
      { name: 'get_weather', args: { city: 'Oslo' } },
    ])
    const results = calls.map(({ name = '' }) => ({ functionResponse: { name, response: { result: `${name}!` } } }))
    const second = await send(results)
    t.match(second.map(chunk => chunk.text ?? '').join(''), /"get_time!".*"get_weather!"/)
  }
})

t.test('native: a function by force, a form, an image, a block', async t => {
  const { models } = native(await simulator(t))
  const tools = [{ functionDeclarations: [{ name: 'get_time' }] }]
  const toolConfig = { functionCallingConfig: { mode: FunctionCallingConfigMode.ANY } }
  const forced = await models.generateContent({ model: 'sim-generate', contents: 'Hi', config: { tools, toolConfig } })
  t.match(forced.functionCalls, [{ name: 'get_time' }])
  const config = { responseMimeType: 'application/json', responseJsonSchema: CITY }
  const filled = await models.generateContent({ model: 'sim-generate', contents: 'city=Oslo', config })
  t.same(JSON.parse(filled.text ?? ''), { city: 'Oslo' })
  const image = { inlineData: { mimeType: 'image/png', data: PIXEL } }
  const seen = await models.generateContent({ model: 'sim-generate', contents: [{ text: 'Look.' }, image] })
  t.match(seen.text, 'I see 1 image (image/png, 68 bytes).')
  const blocked = await models.generateContent({ model: 'sim-generate', contents: 'simulate_block' })
  t.match(blocked.promptFeedback, { blockReason: 'SAFETY' })
})

t.test('native: counting, embeddings, models, and errors as the SDK knows them', async t => {
  const { models } = native(await simulator(t))
  t.match(await models.countTokens({ model: 'sim-generate', contents: 'Hello' }), { totalTokens: Number })
  const { embeddings } = await models.embedContent({ model: 'sim-embed', contents: ['a', 'b'] })
  t.match(embeddings, [{ values: Array }, { values: Array }])
  const names: (string | undefined)[] = []
  for await (const { name } of await models.list()) names.push(name)
  t.same(names, ['models/sim-video', 'models/sim-generate', 'models/sim-embed', 'models/sim-image'])
  t.match(await models.get({ model: 'sim-generate' }), { name: 'models/sim-generate' })
  const error = await failure(models.generateContent({ model: 'other%3Fstatus=404', contents: 'Hi' }))
  t.ok(error instanceof ApiError)
  t.match(error, { status: 404 })
})

t.test('compatible: both of its text protocols, reasoning and all', async t => {
  const client = sdk(await simulator(t))
  const tool = { type: 'function' as const, name: 'get_weather', parameters: CITY, strict: true }
  const asked = { model: 'sim-responses', tools: [tool], store: false, reasoning: { effort: 'low' as const } }
  const include = ['reasoning.encrypted_content' as const]
  const question = { role: 'user' as const, content: 'get_weather city=Oslo' }
  const first = await client.responses.stream({ ...asked, include, input: [question] }).finalResponse()
  const output = first.output.filter(item => item.type === 'reasoning' || item.type === 'function_call')
  const call = output.find(item => item.type === 'function_call')
  const result = { type: 'function_call_output' as const, call_id: call?.call_id ?? '', output: '4 degrees' }
  const plain = output.map(item => {
    if (item.type === 'reasoning') return item
    const { parsed_arguments: _, ...rest } = item as typeof item & { parsed_arguments?: unknown }
    return rest
  })
  const second = await client.responses.create({ ...asked, include, input: [question, ...plain, result] })
  t.match(second.output_text, 'The tool answered: "4 degrees".')
  const chat = await client.chat.completions.create({
    model: 'sim-text',
    messages: [question],
    reasoning_effort: 'low',
  })
  t.match(chat.choices[0]?.message, { reasoning_content: /\S/ })
  t.ok(
    (await failure(client.responses.create({ ...asked, input: 'x', model: 'x?status=400' }))) instanceof
      OpenAI.BadRequestError,
  )
})
