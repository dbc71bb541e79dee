import OpenAI from 'openai'
import type { ChatCompletionMessageParam } from 'openai/resources/chat/completions'
import t from 'tap'
import { CHAT, chatBody, dataOf, HELLO, post, sdk, simulator } from '../support.js'

const WEATHER = {
  type: 'function' as const,
  function: {
    name: 'get_weather',
    description: 'The weather of a city.',
    parameters: {
      type: 'object',
      properties: { city: { type: 'string' }, unit: { enum: ['celsius', 'fahrenheit'] } },
      required: ['city', 'unit'],
      additionalProperties: false,
    },
  },
}
const TIME = {
  type: 'function' as const,
  function: { name: 'get_time', parameters: { type: 'object', properties: {} } },
}

t.test('an answer has an id, one choice, its usage and the usual headers', async t => {
  const client = sdk(await simulator(t))
  const { data, response } = await client.chat.completions.create({ model: 'sim-text', messages: HELLO }).withResponse()
  t.match(data, {
    id: /^chatcmpl-[0-9A-Za-z]{29}$/,
    object: 'chat.completion',
    model: 'sim-text',
    choices: [{ index: 0, finish_reason: 'stop', logprobs: null, message: { role: 'assistant', refusal: null } }],
    usage: { completion_tokens_details: { reasoning_tokens: 0 }, prompt_tokens_details: { cached_tokens: 0 } },
  })
  t.match(data.choices[0]?.message.content, 'You said: "Hello, simulator."')
  t.equal(data.usage?.total_tokens, (data.usage?.prompt_tokens ?? 0) + (data.usage?.completion_tokens ?? 0))
  t.match(response.headers.get('x-request-id'), /^req_[0-9a-f]{32}$/)
  t.match(response.headers.get('x-ratelimit-remaining-requests'), /^\d+$/)
})

t.test("a stream adds up to the answer, by the SDK's own accumulator", async t => {
  const client = sdk(await simulator(t))
  const stream = client.chat.completions.stream({
    model: 'sim-text',
    messages: HELLO,
    n: 2,
    logprobs: true,
    top_logprobs: 2,
    stream_options: { include_usage: true },
  })
  const final = await stream.finalChatCompletion()
  t.match(final.choices, [{ finish_reason: 'stop' }, { finish_reason: 'stop' }])
  t.match(final.choices[0]?.message.content, 'You said: "Hello, simulator."')
  t.match(final.choices[0]?.logprobs?.content?.[0], { token: 'You', logprob: Number, bytes: [89, 111, 117] })
  t.equal(final.choices[0]?.logprobs?.content?.[0]?.top_logprobs.length, 2)
  t.match(final.usage, { total_tokens: Number })
})

t.test('with include_usage each chunk has a null usage, and the last one no choices', async t => {
  const upstream = await simulator(t)
  const body = chatBody('sim-text', { stream: true, stream_options: { include_usage: true } })
  const chunks = dataOf((await post(upstream, CHAT, body)).text)
  const parsed = chunks.slice(0, -1).map(chunk => JSON.parse(chunk))
  t.same(new Set(parsed.slice(0, -1).map(chunk => chunk.usage)), new Set([null]))
  t.match(parsed.at(-1), { choices: [], usage: { total_tokens: Number } })
  t.equal(chunks.at(-1), '[DONE]')
})

t.test('without it no chunk has the key, and the reason to finish has a chunk of its own', async t => {
  const upstream = await simulator(t)
  const chunks = dataOf((await post(upstream, CHAT, chatBody('sim-text', { stream: true }))).text)
  const parsed = chunks.slice(0, -1).map(chunk => JSON.parse(chunk))
  t.notOk(parsed.some(chunk => 'usage' in chunk))
  t.same(parsed.at(0).choices[0].delta, { role: 'assistant', content: '', refusal: null })
  t.match(parsed.at(-1).choices[0], { delta: {}, finish_reason: 'stop' })
  t.equal(new Set(parsed.map(chunk => `${chunk.id} ${chunk.created} ${chunk.model}`)).size, 1)
})

t.test('a tool is called, its result is read', async t => {
  const client = sdk(await simulator(t))
  const messages: ChatCompletionMessageParam[] = [{ role: 'user', content: 'get_weather city=Paris' }]
  const first = await client.chat.completions.create({ model: 'sim-text', messages, tools: [WEATHER, TIME] })
  t.match(first.choices[0], { finish_reason: 'tool_calls', message: { content: null } })
  const message = first.choices[0]!.message
  const [call] = message.tool_calls ?? []
  if (call?.type !== 'function') return t.fail('no function call')
  t.match(call, { id: /^call_/, function: { name: 'get_weather' } })
  t.match(JSON.parse(call.function.arguments), { city: 'Paris', unit: /^(celsius|fahrenheit)$/ })
  const answer = { role: 'tool' as const, tool_call_id: call.id, content: '21 degrees' }
  const second = await client.chat.completions.create({
    model: 'sim-text',
    messages: [...messages, message, answer],
    tools: [WEATHER, TIME],
  })
  t.match(second.choices[0]?.message.content, 'The tool answered: "21 degrees".')
})

t.test("the SDK's tool runner comes to its end", async t => {
  const client = sdk(await simulator(t))
  const runner = client.chat.completions.runTools({
    model: 'sim-text',
    messages: [{ role: 'user', content: 'get_weather, please' }],
    tools: [{ ...WEATHER, function: { ...WEATHER.function, parse: JSON.parse, function: () => '21 degrees' } }],
  })
  t.match(await runner.finalContent(), '21 degrees')
})

t.test('several tools that are named are called at once, and streamed one after the other', async t => {
  const upstream = await simulator(t)
  const request = {
    model: 'sim-text',
    messages: [{ role: 'user' as const, content: 'get_time and get_weather city=Rome' }],
    tools: [WEATHER, TIME],
  }
  const final = await sdk(upstream).chat.completions.stream(request).finalChatCompletion()
  const calls = final.choices[0]?.message.tool_calls ?? []
  t.match(calls, [{ function: { name: 'get_time' } }, { function: { name: 'get_weather' } }])
  const body = { ...request, stream: true }
  const deltas = dataOf((await post(upstream, CHAT, body)).text)
    .slice(0, -1)
    .flatMap(chunk => JSON.parse(chunk).choices[0].delta.tool_calls ?? [])
  t.same(
    deltas.map(delta => delta.index).toSorted(),
    deltas.map(delta => delta.index),
  )
  t.equal(deltas.filter(delta => 'id' in delta).length, 2)
  const one = await sdk(upstream).chat.completions.create({ ...request, parallel_tool_calls: false })
  t.equal(one.choices[0]?.message.tool_calls?.length, 1)
})

t.test('tool_choice decides', async t => {
  const client = sdk(await simulator(t))
  const ask = async (tool_choice: OpenAI.ChatCompletionToolChoiceOption) => {
    const { choices } = await client.chat.completions.create({
      model: 'sim-text',
      messages: HELLO,
      tools: [WEATHER, TIME],
      tool_choice,
    })
    return choices[0]?.message.tool_calls?.map(call => (call.type === 'function' ? call.function.name : ''))
  }
  t.same(await ask('auto'), undefined)
  t.same(await ask('none'), undefined)
  t.same(await ask('required'), ['get_weather'])
  t.same(await ask({ type: 'function', function: { name: 'get_time' } }), ['get_time'])
  const allowed = { mode: 'required' as const, tools: [{ type: 'function', function: { name: 'get_time' } }] }
  t.same(await ask({ type: 'allowed_tools', allowed_tools: allowed }), ['get_time'])
})

t.test('custom tools and the older functions are answered in kind', async t => {
  const upstream = await simulator(t)
  const custom = { tools: [{ type: 'custom', custom: { name: 'shell' } }], tool_choice: 'required' }
  const modern = JSON.parse((await post(upstream, CHAT, chatBody('sim-text', custom))).text)
  t.match(modern.choices[0], {
    finish_reason: 'tool_calls',
    message: { tool_calls: [{ type: 'custom', custom: { name: 'shell', input: 'Hello, simulator.' } }] },
  })
  const legacy = { functions: [{ name: 'f', parameters: { type: 'object' } }], function_call: { name: 'f' } }
  const older = JSON.parse((await post(upstream, CHAT, chatBody('sim-text', legacy))).text)
  t.match(older.choices[0], {
    finish_reason: 'function_call',
    message: { function_call: { name: 'f', arguments: '{}' } },
  })
})

t.test('structured output is valid, and parsed by the SDK', async t => {
  const client = sdk(await simulator(t))
  const schema = {
    type: 'object',
    properties: {
      name: { type: 'string' },
      born: { type: 'string', format: 'date' },
      tags: { type: 'array', items: { type: 'string' } },
    },
    required: ['name', 'born', 'tags'],
    additionalProperties: false,
  }
  const answer = await client.chat.completions.parse({
    model: 'sim-text',
    messages: [{ role: 'user', content: 'name="Ada Lovelace"' }],
    response_format: { type: 'json_schema', json_schema: { name: 'person', strict: true, schema } },
  })
  t.match(JSON.parse(answer.choices[0]?.message.content ?? ''), { name: 'Ada Lovelace', born: /^\d{4}-\d\d-\d\d$/ })
  const json = await client.chat.completions.create({
    model: 'sim-text',
    messages: HELLO,
    response_format: { type: 'json_object' },
  })
  t.match(JSON.parse(json.choices[0]?.message.content ?? ''), { simulated: true })
})

t.test('images, sounds and files are acknowledged and counted', async t => {
  const client = sdk(await simulator(t))
  const answer = await client.chat.completions.create({
    model: 'sim-text',
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'What is all this?' },
          { type: 'image_url', image_url: { url: `data:image/png;base64,${Buffer.alloc(68).toString('base64')}` } },
          { type: 'input_audio', input_audio: { data: Buffer.alloc(3200).toString('base64'), format: 'wav' } },
          { type: 'file', file: { file_data: 'data:application/pdf;base64,AAAA', filename: 'a.pdf' } },
        ],
      },
    ],
  })
  const content = answer.choices[0]?.message.content
  t.match(content, 'I see 1 image (image/png, 68 bytes).')
  t.match(content, 'I hear 1 audio clip (audio/wav, 3200 bytes).')
  t.match(content, 'I have 1 file (application/pdf, 3 bytes).')
  t.equal(answer.usage?.prompt_tokens_details?.audio_tokens, 3)
})

t.test('limits, stop sequences and reasoning effort are obeyed', async t => {
  const client = sdk(await simulator(t))
  const ask = async (more: object) =>
    client.chat.completions.create({
      model: 'sim-text',
      messages: HELLO,
      ...more,
    } as OpenAI.ChatCompletionCreateParamsNonStreaming)
  t.match(await ask({ max_tokens: 3 }), { choices: [{ finish_reason: 'length' }], usage: { completion_tokens: 3 } })
  t.match(await ask({ stop: ['simulator'] }), { choices: [{ message: { content: 'You said: "Hello, ' } }] })
  const thoughtful = await ask({ reasoning_effort: 'low', max_completion_tokens: 10 })
  t.match(thoughtful, {
    choices: [{ finish_reason: 'length', message: { content: '' } }],
    usage: { completion_tokens: 10, completion_tokens_details: { reasoning_tokens: 10 } },
  })
})

t.test('the SDK throws its own errors', async t => {
  const client = sdk(await simulator(t))
  const ask = (model: string) => client.chat.completions.create({ model, messages: HELLO })
  const limited = await failure(ask('sim-text?status=429&retry-after=2'))
  t.ok(limited instanceof OpenAI.RateLimitError)
  if (limited instanceof OpenAI.RateLimitError) {
    t.equal(limited.headers?.get('retry-after'), '2')
    t.match(limited, { status: 429, code: 'rate_limit_exceeded', type: 'requests', requestID: /^req_/ })
  }
  t.ok((await failure(ask('sim-text?status=401'))) instanceof OpenAI.AuthenticationError)
  t.ok((await failure(ask('sim-text?status=503'))) instanceof OpenAI.InternalServerError)
  t.ok((await failure(ask('sim-text?reset'))) instanceof OpenAI.APIConnectionError)
  t.ok((await failure(ask('another-model?status=404'))) instanceof OpenAI.NotFoundError)
})

t.test('the SDK retries what fails at first', async t => {
  const upstream = await simulator(t)
  const client = new OpenAI({ apiKey: 'x', baseURL: `${upstream.origin}/v1`, maxRetries: 2 })
  const answer = await client.chat.completions.create({
    model: 'sim-text?status=429&retry-after-ms=1&times=2',
    messages: HELLO,
  })
  t.equal(answer.model, 'sim-text')
  t.equal(upstream.received.length, 3)
})

t.test('an error in the middle of a stream reaches the caller of the SDK', async t => {
  const client = sdk(await simulator(t))
  const stream = await client.chat.completions.create({
    model: 'sim-text?error-after=3',
    messages: HELLO,
    stream: true,
  })
  let chunks = 0
  const read = async () => {
    for await (const _ of stream) chunks += 1
  }
  t.ok((await failure(read())) instanceof OpenAI.APIError)
  t.equal(chunks, 3)
})

function failure(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => undefined,
    (error: unknown) => error,
  )
}

const BAD: readonly (readonly [title: string, more: object, error: object])[] = [
  ['no model', { model: undefined }, { code: 'missing_required_parameter', param: 'model' }],
  ['a model that is not a string', { model: 5 }, { code: 'invalid_type', param: 'model' }],
  ['no messages', { messages: undefined }, { code: 'missing_required_parameter', param: 'messages' }],
  ['empty messages', { messages: [] }, { code: 'empty_array', param: 'messages' }],
  ['messages that are a string', { messages: 'x' }, { code: 'invalid_type', param: 'messages' }],
  ['an unknown role', { messages: [{ role: 'x', content: '' }] }, { code: 'invalid_value', param: 'messages[0].role' }],
  ['no role', { messages: [{ content: '' }] }, { param: 'messages[0].role' }],
  ['no content', { messages: [{ role: 'user' }] }, { param: 'messages[0].content' }],
  [
    'an unknown part',
    { messages: [{ role: 'user', content: [{ type: 'x' }] }] },
    { param: 'messages[0].content[0].type' },
  ],
  [
    'an image for a system',
    { messages: [{ role: 'system', content: [{ type: 'image_url' }] }] },
    { code: 'invalid_value' },
  ],
  [
    'a bad image',
    { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'x' } }] }] },
    { code: 'invalid_value' },
  ],
  ['a temperature too low', { temperature: -1 }, { code: 'decimal_below_min_value', param: 'temperature' }],
  ['a temperature too high', { temperature: 3 }, { code: 'decimal_above_max_value' }],
  ['a limit of nothing', { max_tokens: 0 }, { code: 'integer_below_min_value', param: 'max_tokens' }],
  ['half an answer', { n: 1.5 }, { code: 'invalid_type', param: 'n' }],
  ['five stops', { stop: ['a', 'b', 'c', 'd', 'e'] }, { code: 'array_above_max_length', param: 'stop' }],
  ['stream options without a stream', { stream_options: {} }, { param: 'stream_options' }],
  ['top_logprobs without logprobs', { top_logprobs: 2 }, { param: 'top_logprobs' }],
  ['sound as output', { modalities: ['text', 'audio'] }, { code: 'unsupported_value', param: 'modalities' }],
  [
    'a tool that is not there',
    { tools: [WEATHER], tool_choice: { type: 'function', function: { name: 'x' } } },
    { param: 'tool_choice' },
  ],
  ['a choice without tools', { tool_choice: 'required' }, { param: 'tool_choice' }],
  [
    'a tool with a bad name',
    { tools: [{ type: 'function', function: { name: 'a b' } }] },
    { param: 'tools[0].function.name' },
  ],
  ['too many tools', { tools: Array(129).fill(WEATHER) }, { code: 'array_above_max_length', param: 'tools' }],
  ['an unknown format', { response_format: { type: 'x' } }, { param: 'response_format.type' }],
  [
    'a schema without a name',
    { response_format: { type: 'json_schema', json_schema: {} } },
    { param: 'response_format.json_schema.name' },
  ],
  [
    'a result of no call',
    { messages: [{ role: 'tool', tool_call_id: 'a', content: '' }] },
    { param: 'messages[0].role' },
  ],
  [
    'a call without a result',
    {
      messages: [
        { role: 'assistant', tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '' } }] },
        { role: 'user', content: '' },
      ],
    },
    { message: /did not have response messages: a$/ },
  ],
]

for (const [title, more, error] of BAD) {
  t.test(`refused as a provider would: ${title}`, async t => {
    const answer = await post(await simulator(t), CHAT, chatBody('sim-text', more))
    t.equal(answer.status, 400)
    t.match(JSON.parse(answer.text), { error: { type: 'invalid_request_error', message: String, ...error } })
  })
}

t.test('reasoning that is requested by its effort is shown, whole and in a stream', async t => {
  const upstream = await simulator(t)
  const whole = JSON.parse((await post(upstream, CHAT, chatBody('sim-text', { reasoning_effort: 'low' }))).text)
  const { reasoning_content: told, content } = whole.choices[0].message
  t.match(told, /\S/)
  t.equal(whole.usage.completion_tokens_details.reasoning_tokens, 32)
  const stream = await post(upstream, CHAT, chatBody('sim-text', { reasoning_effort: 'low', stream: true }))
  const deltas = dataOf(stream.text)
    .slice(0, -1)
    .map(data => JSON.parse(data).choices[0].delta)
  t.equal(deltas.map(delta => delta.reasoning_content ?? '').join(''), told)
  t.equal(deltas.map(delta => delta.content ?? '').join(''), content)
  const messages = [...HELLO, { role: 'assistant', content, reasoning_content: told }, ...HELLO]
  t.equal((await post(upstream, CHAT, chatBody('sim-text', { messages }))).status, 200)
  const unasked = JSON.parse((await post(upstream, CHAT, chatBody('sim-text?reasoning'))).text)
  t.notOk('reasoning_content' in unasked.choices[0].message)
})

t.test('a refusal, a prompt that is blocked, a page that is cited', async t => {
  const client = sdk(await simulator(t))
  const ask = (content: string) =>
    client.chat.completions.stream({ model: 'sim-text', messages: [{ role: 'user', content }] }).finalChatCompletion()
  t.match((await ask('simulate_refusal')).choices, [
    { finish_reason: 'stop', message: { content: null, refusal: /asked to refuse/ } },
  ])
  const blocked = client.chat.completions.create({
    model: 'sim-text',
    messages: [{ role: 'user', content: 'simulate_block' }],
  })
  t.match((await blocked).choices, [{ finish_reason: 'content_filter', message: { content: '' } }])
  const cited = await client.chat.completions.create({
    model: 'sim-text',
    messages: [{ role: 'user', content: 'simulate_citation' }],
  })
  t.match(cited.choices[0]?.message.annotations, [{ type: 'url_citation', url_citation: { url: /^https:/ } }])
})
