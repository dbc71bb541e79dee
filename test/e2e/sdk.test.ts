import OpenAI, { toFile } from 'openai'
import t, { type Test } from 'tap'
import { canary, proveNoLeak } from '../helpers/canaries.js'
import { CALLER, startTestGateway, type TestGateway } from '../helpers/gateway.js'

const YAML = `version: 1
${CALLER.replace('["*"]', '[sim-*, other]')}
upstreams: { sim: { kind: simulator }, off: { kind: openai-compatible, base: "http://127.0.0.1:9", secret: { env: NOT_SET } } }
models:
  sim-text: sim
  sim-embed: sim
  sim-moderate: sim
  "sim-*": sim
  hidden: sim
  other: off
`

/** The official SDK against a gateway on the embedded simulator, over a real socket. */
async function running(t: Test): Promise<{ sdk: OpenAI; gateway: TestGateway }> {
  const gateway = await startTestGateway(t, YAML)
  return { gateway, sdk: client(gateway, gateway.key) }
}

function client(gateway: TestGateway, apiKey: string, options: { maxRetries?: number } = {}): OpenAI {
  return new OpenAI({ apiKey, baseURL: `${gateway.origin}/v1`, maxRetries: 0, ...options })
}

/** Asserts that the SDK throws this of its error types. */
async function failsAs(t: Test, promise: Promise<unknown>, type: new (...args: never[]) => Error): Promise<void> {
  const error = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  t.ok(error instanceof type, `${type.name}, and not ${error}`)
}

const QUESTION = [{ role: 'user' as const, content: 'Say hello to the gateway.' }]

const WEATHER = {
  type: 'function' as const,
  function: {
    name: 'get_weather',
    description: 'The weather of a city',
    parameters: {
      type: 'object',
      properties: { city: { type: 'string' }, unit: { type: 'string', enum: ['celsius', 'fahrenheit'] } },
      required: ['city', 'unit'],
      additionalProperties: false,
    },
  },
}

const PERSON = {
  name: 'person',
  strict: true,
  schema: {
    type: 'object',
    properties: {
      name: { type: 'string' },
      age: { type: 'integer', minimum: 0 },
      tags: { type: 'array', items: { type: 'string' } },
    },
    required: ['name', 'age', 'tags'],
    additionalProperties: false,
  },
}

t.test('chat: an answer, its usage and its headers', async t => {
  const { sdk } = await running(t)
  const { data, response } = await sdk.chat.completions.create({ model: 'sim-text', messages: QUESTION }).withResponse()
  t.match(data, { object: 'chat.completion', model: 'sim-text', choices: [{ index: 0, finish_reason: 'stop' }] })
  t.equal(typeof data.choices[0]?.message.content, 'string')
  t.match(data.id, /^chatcmpl-/)
  const { prompt_tokens, completion_tokens, total_tokens } = data.usage!
  t.equal(prompt_tokens + completion_tokens, total_tokens)
  t.ok(response.headers.get('x-request-id'))
})

t.test('chat: the same request has the same answer', async t => {
  const { sdk } = await running(t)
  const ask = () => sdk.chat.completions.create({ model: 'sim-text', messages: QUESTION })
  t.equal((await ask()).choices[0]?.message.content, (await ask()).choices[0]?.message.content)
})

t.test('chat stream: chunks that add up to the answer, with usage where asked for', async t => {
  const { sdk } = await running(t)
  const whole = await sdk.chat.completions.create({ model: 'sim-text', messages: QUESTION })
  const stream = await sdk.chat.completions.create({
    model: 'sim-text',
    messages: QUESTION,
    stream: true,
    stream_options: { include_usage: true },
  })
  let text = ''
  let usage: unknown
  let finish: string | null | undefined
  for await (const chunk of stream) {
    t.equal(chunk.object, 'chat.completion.chunk')
    text += chunk.choices[0]?.delta.content ?? ''
    finish = chunk.choices[0]?.finish_reason ?? finish
    usage = chunk.usage ?? usage
  }
  t.equal(text, whole.choices[0]?.message.content)
  t.equal(finish, 'stop')
  t.match(usage, { total_tokens: Number })
})

t.test("chat stream: the SDK's own accumulator", async t => {
  const { sdk } = await running(t)
  const final = await sdk.chat.completions.stream({ model: 'sim-text', messages: QUESTION }).finalChatCompletion()
  t.equal(final.choices[0]?.finish_reason, 'stop')
})

t.test('chat stream: given up by the client, the connection serves again', async t => {
  const { sdk, gateway } = await running(t)
  const stream = await sdk.chat.completions.create({ model: 'sim-text?pace=50ms', messages: QUESTION, stream: true })
  for await (const _ of stream) break
  await gateway.log.find(line => line.outcome === 'client_abort')
  t.equal((await sdk.models.list()).data.length > 0, true)
})

t.test('chat tools: chosen, called with arguments of the schema, answered', async t => {
  const { sdk } = await running(t)
  const tool_choice = { type: 'function' as const, function: { name: 'get_weather' } }
  const messages = [{ role: 'user' as const, content: 'What is the weather in Paris? Use get_weather.' }]
  const first = await sdk.chat.completions.create({ model: 'sim-text', messages, tools: [WEATHER], tool_choice })
  const [call] = first.choices[0]?.message.tool_calls ?? []
  if (call?.type !== 'function') return t.fail('no function call')
  t.equal(call.function.name, 'get_weather')
  t.match(JSON.parse(call.function.arguments), { city: String, unit: /^(celsius|fahrenheit)$/ })
  const second = await sdk.chat.completions.create({
    model: 'sim-text',
    messages: [
      ...messages,
      first.choices[0]!.message,
      { role: 'tool', tool_call_id: call.id, content: '{"degrees":21}' },
    ],
    tools: [WEATHER],
  })
  t.equal(second.choices[0]?.finish_reason, 'stop')
})

t.test('chat tools, streamed: the fragments make the same arguments', async t => {
  const { sdk } = await running(t)
  const request = {
    model: 'sim-text',
    messages: [{ role: 'user' as const, content: 'The weather in Rome, please.' }],
    tools: [WEATHER],
    tool_choice: 'required' as const,
  }
  const final = await sdk.chat.completions.stream(request).finalChatCompletion()
  const [call] = final.choices[0]?.message.tool_calls ?? []
  t.equal(final.choices[0]?.finish_reason, 'tool_calls')
  if (call?.type !== 'function') return t.fail('no function call')
  t.match(JSON.parse(call.function.arguments), { city: String })
})

t.test('chat structured output: a JSON schema is filled', async t => {
  const { sdk } = await running(t)
  const response_format = { type: 'json_schema' as const, json_schema: PERSON }
  const answer = await sdk.chat.completions.parse({ model: 'sim-text', messages: QUESTION, response_format })
  const person = JSON.parse(answer.choices[0]?.message.content ?? '') as { name: unknown; age: unknown; tags: unknown }
  t.same(Object.keys(person).sort(), ['age', 'name', 'tags'])
  t.equal(Number.isInteger(person.age), true)
  t.equal(Array.isArray(person.tags), true)
  const json = await sdk.chat.completions.create({
    model: 'sim-text',
    messages: [{ role: 'user', content: 'Answer in JSON.' }],
    response_format: { type: 'json_object' },
  })
  t.equal(typeof JSON.parse(json.choices[0]?.message.content ?? ''), 'object')
})

t.test('chat: images and audio among the parts of a message', async t => {
  const { sdk } = await running(t)
  const url = `data:image/png;base64,${Buffer.alloc(200_000, 7).toString('base64')}`
  const answer = await sdk.chat.completions.create({
    model: 'sim-text',
    messages: [
      { role: 'developer', content: 'Be brief.' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'What is this?' },
          { type: 'image_url', image_url: { url, detail: 'low' } },
          { type: 'image_url', image_url: { url: 'https://images.example/cat.png' } },
          { type: 'input_audio', input_audio: { data: Buffer.alloc(3000).toString('base64'), format: 'wav' } },
        ],
      },
    ],
  })
  t.equal(answer.choices[0]?.finish_reason, 'stop')
})

t.test('chat: parameters that the reference knows, and several choices', async t => {
  const { sdk } = await running(t)
  const answer = await sdk.chat.completions.create({
    model: 'sim-text',
    messages: QUESTION,
    n: 2,
    temperature: 0.3,
    top_p: 0.9,
    max_completion_tokens: 64,
    stop: ['END'],
    seed: 7,
    user: 'someone',
    reasoning_effort: 'low',
    logit_bias: { '50256': -100 },
    metadata: { a: 'b' },
  })
  t.same(
    answer.choices.map(choice => choice.index),
    [0, 1],
  )
})

t.test('chat: an answer that is cut by max_tokens says so', async t => {
  const { sdk } = await running(t)
  const answer = await sdk.chat.completions.create({ model: 'sim-text', messages: QUESTION, max_tokens: 1 })
  t.equal(answer.choices[0]?.finish_reason, 'length')
})

t.test('completions, whole and streamed', async t => {
  const { sdk } = await running(t)
  const whole = await sdk.completions.create({ model: 'sim-text', prompt: 'Once upon a time' })
  t.match(whole, { object: 'text_completion', choices: [{ text: String, index: 0 }] })
  let text = ''
  for await (const chunk of await sdk.completions.create({
    model: 'sim-text',
    prompt: 'Once upon a time',
    stream: true,
  }))
    text += chunk.choices[0]?.text ?? ''
  t.equal(text, whole.choices[0]?.text)
})

t.test('embeddings: the SDK asks for base64 and gets its numbers back', async t => {
  const { sdk, gateway } = await running(t)
  const input = ['a red apple', 'a green apple', 'the stock exchange']
  const packed = await sdk.embeddings.create({ model: 'sim-embed', input })
  const plain = await sdk.embeddings.create({ model: 'sim-embed', input, encoding_format: 'float' })
  t.match(gateway.gateway.simulated.at(-2)?.body.toString(), /"encoding_format":"base64"/)
  t.same(
    packed.data.map(({ index }) => index),
    [0, 1, 2],
  )
  for (const [i, { embedding }] of packed.data.entries()) {
    const expected = plain.data[i]!.embedding
    t.equal(embedding.length, expected.length)
    t.ok(embedding.every((value, at) => Math.abs(value - expected[at]!) < 1e-6))
  }
  const [red, green, stock] = plain.data.map(({ embedding }) => embedding)
  const near = (a: number[], b: number[]): number => a.reduce((sum, value, i) => sum + value * b[i]!, 0)
  t.ok(near(red!, green!) > near(red!, stock!), 'similar texts are near')
  t.match(packed.usage, { prompt_tokens: Number, total_tokens: Number })
})

t.test('embeddings: dimensions, one string, tokens', async t => {
  const { sdk } = await running(t)
  const short = await sdk.embeddings.create({
    model: 'sim-embed',
    input: 'x',
    dimensions: 64,
    encoding_format: 'float',
  })
  t.equal(short.data[0]?.embedding.length, 64)
  const tokens = await sdk.embeddings.create({ model: 'sim-embed', input: [[1, 2, 3], [4]] })
  t.equal(tokens.data.length, 2)
})

t.test('moderations: text, texts and parts', async t => {
  const { sdk } = await running(t)
  const one = await sdk.moderations.create({ model: 'sim-moderate', input: 'hello' })
  t.equal(one.results.length, 1)
  t.equal(typeof one.results[0]?.flagged, 'boolean')
  t.same(Object.keys(one.results[0]!.categories).sort(), Object.keys(one.results[0]!.category_scores).sort())
  const many = await sdk.moderations.create({ model: 'sim-moderate', input: ['hello', 'I will kill you'] })
  t.same(
    many.results.map(({ flagged }) => flagged),
    [false, true],
  )
  const parts = await sdk.moderations.create({
    model: 'sim-moderate',
    input: [
      { type: 'text', text: 'hello' },
      { type: 'image_url', image_url: { url: 'https://images.example/x.png' } },
    ],
  })
  t.equal(parts.results.length, 1)
})

t.test('responses: an answer, its text and its usage', async t => {
  const { sdk } = await running(t)
  const answer = await sdk.responses.create({ model: 'sim-text', input: 'Say hello.', reasoning: { effort: 'medium' } })
  t.match(answer, { object: 'response', status: 'completed', model: 'sim-text' })
  t.ok(answer.output_text.length > 0)
  t.match(answer.usage, { input_tokens: Number, output_tokens: Number, total_tokens: Number })
})

t.test('responses stream: typed events in order, the text adds up', async t => {
  const { sdk } = await running(t)
  const stream = await sdk.responses.create({
    model: 'sim-text',
    input: [{ role: 'user', content: 'Say hello.' }],
    stream: true,
  })
  const types: string[] = []
  let text = ''
  let done = ''
  let last = -1
  for await (const event of stream) {
    types.push(event.type)
    t.equal(event.sequence_number, last + 1)
    last = event.sequence_number
    if (event.type === 'response.output_text.delta') text += event.delta
    if (event.type === 'response.output_text.done') done = event.text
  }
  t.equal(types[0], 'response.created')
  t.equal(types.at(-1), 'response.completed')
  t.equal(text, done)
})

t.test('responses tools and structured output, whole and streamed', async t => {
  const { sdk } = await running(t)
  const { name, description, parameters } = WEATHER.function
  const tools = [{ type: 'function' as const, name, description, parameters, strict: true }]
  const request = { model: 'sim-text', input: 'The weather in Oslo?', tools, tool_choice: 'required' as const }
  for (const answer of [await sdk.responses.create(request), await sdk.responses.stream(request).finalResponse()]) {
    const [call] = answer.output.flatMap(item => (item.type === 'function_call' ? [item] : []))
    t.equal(call?.name, 'get_weather')
    t.match(JSON.parse(call?.arguments ?? '{}'), { city: String })
  }
  const { schema, strict } = PERSON
  const format = { type: 'json_schema' as const, name: 'person', schema, strict }
  const structured = await sdk.responses.create({ model: 'sim-text', input: 'A person.', text: { format } })
  t.match(JSON.parse(structured.output_text), { name: String, age: Number })
})

t.test('models: the list and one of them, only what the key may use and an upstream serves', async t => {
  const { sdk } = await running(t)
  const ids: string[] = []
  for await (const model of sdk.models.list()) {
    ids.push(model.id)
    t.match(model, { object: 'model', created: Number, owned_by: String })
  }
  t.same(ids.sort(), ['sim-embed', 'sim-moderate', 'sim-text'])
  t.equal((await sdk.models.retrieve('sim-text')).id, 'sim-text')
  await failsAs(t, sdk.models.retrieve('hidden'), OpenAI.NotFoundError)
})

t.test('errors arrive as the types that the SDK knows', async t => {
  const { sdk, gateway } = await running(t)
  const chat = (model: string, from = sdk) => from.chat.completions.create({ model, messages: QUESTION })
  await failsAs(t, chat('sim-text', client(gateway, canary('caller'))), OpenAI.AuthenticationError)
  await t.rejects(chat('none'), { status: 404, code: 'model_not_found' })
  await failsAs(t, chat('hidden'), OpenAI.NotFoundError)
  await t.rejects(sdk.responses.create({ model: 'none', input: 'x' }), {
    status: 400,
    code: 'model_not_found',
    param: 'model',
  })
  const bad = sdk.chat.completions.create({ model: 'sim-text', messages: 'x' as never })
  await t.rejects(bad, { status: 400, code: 'invalid_type', param: 'messages' })
  await failsAs(t, chat('sim-text?status=429&retry-after=2'), OpenAI.RateLimitError)
  await failsAs(t, chat('sim-text?status=400'), OpenAI.BadRequestError)
  await failsAs(t, chat('sim-text?status=500'), OpenAI.InternalServerError)
  await t.rejects(chat('sim-text?status=401'), { status: 502, code: 'upstream_auth' })
})

t.test('an error inside a stream is thrown by the SDK', async t => {
  const { sdk } = await running(t)
  const read = async (model: string): Promise<void> => {
    for await (const _ of await sdk.chat.completions.create({ model, messages: QUESTION, stream: true }));
  }
  await failsAs(t, read('sim-text?reset-after=3'), OpenAI.APIError)
})

t.test('a 429 is tried again by the SDK after the time that it was told', async t => {
  const { gateway } = await running(t)
  const patient = client(gateway, gateway.key, { maxRetries: 1 })
  const model = 'sim-text?status=429&retry-after-ms=1'
  await failsAs(t, patient.chat.completions.create({ model, messages: QUESTION }), OpenAI.RateLimitError)
  t.equal((await gateway.log.count(2, line => line.msg === 'request')).length, 2)
})

t.test('a form for a model that does not know forms is refused in words, not with a crash', async t => {
  const { sdk } = await running(t)
  const file = await toFile(Buffer.alloc(1000), 'a.wav')
  await failsAs(t, sdk.images.edit({ model: 'other', image: file, prompt: 'a cat' }), OpenAI.NotFoundError)
  await failsAs(t, sdk.audio.transcriptions.create({ model: 'nobody', file }), OpenAI.NotFoundError)
})

proveNoLeak(t)
