import OpenAI from 'openai'
import t from 'tap'
import { dataOf, post, sdk, simulator } from '../support.js'

const PATH = '/v1/responses'
const WEATHER = {
  type: 'function' as const,
  name: 'get_weather',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  strict: null,
}

t.test('a response tells back what was asked, with the defaults filled in', async t => {
  const client = sdk(await simulator(t))
  const response = await client.responses.create({ model: 'sim-text', input: 'Hello', tools: [WEATHER], user: 'me' })
  t.match(response, {
    id: /^resp_[0-9a-f]{48}$/,
    object: 'response',
    status: 'completed',
    error: null,
    output: [
      {
        type: 'message',
        id: /^msg_/,
        status: 'completed',
        role: 'assistant',
        content: [{ type: 'output_text', annotations: [] }],
      },
    ],
    output_text: /^You said: "Hello"/,
    tool_choice: 'auto',
    tools: [{ type: 'function', name: 'get_weather', strict: true }],
    parallel_tool_calls: true,
    temperature: 1,
    user: 'me',
    usage: { input_tokens: Number, output_tokens: Number, output_tokens_details: { reasoning_tokens: 0 } },
  })
})

t.test('a stream has every event in its order, numbered, and ends with the same response', async t => {
  const upstream = await simulator(t)
  const body = { model: 'sim-text', input: 'Hello', stream: true }
  const { text, headers } = await post(upstream, PATH, body)
  t.equal(headers['content-type'], 'text/event-stream; charset=utf-8')
  const events = dataOf(text).map(data => JSON.parse(data))
  t.same(
    [...text.matchAll(/^event: (.*)$/gm)].map(([, name]) => name),
    events.map(event => event.type),
  )
  t.same(
    events.map(event => event.sequence_number),
    [...events.keys()],
  )
  const types = events.map(event => event.type).filter(type => type !== 'response.output_text.delta')
  t.same(types, [
    'response.created',
    'response.in_progress',
    'response.output_item.added',
    'response.content_part.added',
    'response.output_text.done',
    'response.content_part.done',
    'response.output_item.done',
    'response.completed',
  ])
  t.match(events[0].response, { status: 'in_progress', output: [], usage: null, completed_at: null })
  const deltas = events.flatMap(event => (event.type === 'response.output_text.delta' ? [event.delta] : []))
  t.equal(deltas.join(''), events.at(-1).response.output[0].content[0].text)
})

t.test("the SDK's own accumulator follows the stream", async t => {
  const client = sdk(await simulator(t))
  const stream = client.responses.stream({
    model: 'sim-text',
    input: [{ role: 'user', content: 'get_weather city=Oslo' }],
    tools: [WEATHER],
    reasoning: { effort: 'minimal', summary: 'auto' },
  })
  const final = await stream.finalResponse()
  t.match(final.output, [
    { type: 'reasoning', id: /^rs_/, summary: [{ type: 'summary_text', text: String }] },
    { type: 'function_call', id: /^fc_/, call_id: /^call_/, name: 'get_weather', arguments: '{"city":"Oslo"}' },
  ])
  t.equal(final.usage?.output_tokens_details.reasoning_tokens, 16)
})

t.test('a tool is called and its result is read, with the whole history or by the id alone', async t => {
  const client = sdk(await simulator(t))
  const question = { role: 'user' as const, content: 'get_weather city=Oslo' }
  const first = await client.responses.create({ model: 'sim-text', input: [question], tools: [WEATHER] })
  const [call] = first.output
  if (call?.type !== 'function_call') return t.fail('no function call')
  const output = { type: 'function_call_output' as const, call_id: call.call_id, output: '4 degrees' }
  const whole = await client.responses.create({ model: 'sim-text', input: [question, call, output], tools: [WEATHER] })
  t.match(whole.output_text, 'The tool answered: "4 degrees".')
  const chained = await client.responses.create({
    model: 'sim-text',
    input: [output],
    previous_response_id: first.id,
  })
  t.match(chained, { output_text: /4 degrees/, previous_response_id: first.id })
})

t.test('an id that was never given, or was not to be stored, is unknown', async t => {
  const client = sdk(await simulator(t))
  const kept = await client.responses.create({ model: 'sim-text', input: 'Hello', store: false })
  for (const id of ['resp_unknown', kept.id]) {
    const error = await client.responses
      .create({ model: 'sim-text', input: 'More', previous_response_id: id })
      .catch((error: unknown) => error)
    t.ok(error instanceof OpenAI.BadRequestError)
    t.match(error, { code: 'previous_response_not_found', param: 'previous_response_id' })
  }
})

t.test('ids outlive the simulator that gave them', async t => {
  const before = await sdk(await simulator(t)).responses.create({ model: 'sim-text', input: 'Hello' })
  const client = sdk(await simulator(t))
  const after = await client.responses.create({ model: 'sim-text', input: 'More', previous_response_id: before.id })
  t.equal(after.status, 'completed')
  const [item] = before.output
  const reference = { type: 'item_reference' as const, id: item?.id ?? '' }
  t.match(await client.responses.create({ model: 'sim-text', input: [reference, { role: 'user', content: 'Hi' }] }), {
    status: 'completed',
  })
})

t.test('structured output, logprobs and sealed reasoning', async t => {
  const client = sdk(await simulator(t))
  const schema = { type: 'object', properties: { age: { type: 'integer', minimum: 18 } }, required: ['age'] }
  const response = await client.responses.create({
    model: 'sim-text',
    input: 'Hello',
    text: { format: { type: 'json_schema', name: 'person', schema } },
    reasoning: { effort: 'low' },
    include: ['reasoning.encrypted_content', 'message.output_text.logprobs'],
    top_logprobs: 3,
  })
  t.ok(JSON.parse(response.output_text).age >= 18)
  const [reasoning, message] = response.output
  t.match(reasoning, { type: 'reasoning', summary: [], encrypted_content: String })
  if (message?.type !== 'message' || message.content[0]?.type !== 'output_text') return t.fail('no message')
  t.equal(message.content[0].logprobs?.[0]?.top_logprobs.length, 3)
})

t.test('an answer that the limit cuts is incomplete, streamed or not', async t => {
  const upstream = await simulator(t)
  const body = { model: 'sim-text', input: 'Hello', max_output_tokens: 16 }
  const whole = JSON.parse((await post(upstream, PATH, body)).text)
  t.match(whole, {
    status: 'incomplete',
    incomplete_details: { reason: 'max_output_tokens' },
    output: [{ status: 'incomplete' }],
    usage: { output_tokens: 16 },
  })
  const events = dataOf((await post(upstream, PATH, { ...body, stream: true })).text).map(data => JSON.parse(data))
  t.match(events.at(-1), { type: 'response.incomplete', response: { status: 'incomplete' } })
  const thoughtful = { ...body, reasoning: { effort: 'high' } }
  const spent = JSON.parse((await post(upstream, PATH, thoughtful)).text)
  t.same(
    spent.output.map((item: { type: string }) => item.type),
    ['reasoning'],
  )
})

t.test('parts of a message, roles, custom and hosted tools', async t => {
  const upstream = await simulator(t)
  const image = { type: 'input_image', image_url: `data:image/png;base64,${Buffer.alloc(68).toString('base64')}` }
  const input = [
    { role: 'developer', content: 'Be brief.' },
    { type: 'reasoning', id: 'rs_1', summary: [] },
    {
      role: 'assistant',
      content: [
        { type: 'output_text', text: 'Yes?' },
        { type: 'refusal', refusal: 'No.' },
      ],
    },
    { role: 'user', content: [{ type: 'input_text', text: 'shell' }, image, { type: 'input_file', file_id: 'f' }] },
  ]
  const seen = JSON.parse(
    (await post(upstream, PATH, { model: 'sim-text', input, tools: [{ type: 'web_search' }] })).text,
  )
  t.match(seen.output[0].content[0].text, 'I see 1 image (image/png, 68 bytes). I have 1 file (by reference).')
  const tools = [{ type: 'custom', name: 'shell' }]
  const called = JSON.parse((await post(upstream, PATH, { model: 'sim-text', input, tools })).text)
  t.match(called.output, [{ type: 'custom_tool_call', id: /^ctc_/, name: 'shell', input: 'shell' }])
  const events = dataOf((await post(upstream, PATH, { model: 'sim-text', input, tools, stream: true })).text)
  t.ok(events.some(data => JSON.parse(data).type === 'response.custom_tool_call_input.done'))
})

t.test('a stream that breaks down says so, and the response has failed', async t => {
  const upstream = await simulator(t)
  const body = { model: 'sim-text?error-after=4', input: 'Hello', stream: true }
  const events = dataOf((await post(upstream, PATH, body)).text).map(data => JSON.parse(data))
  t.match(events.slice(4), [
    { type: 'error', sequence_number: 4, message: String, error: { type: 'server_error' } },
    { type: 'response.failed', sequence_number: 5, response: { status: 'failed', error: { code: 'server_error' } } },
  ])
})

const BAD: readonly (readonly [title: string, more: object, status: number, error: object])[] = [
  ['no model', { model: undefined }, 400, { code: 'missing_required_parameter', param: 'model' }],
  ['no input', { input: undefined }, 400, { code: 'missing_required_parameter' }],
  ['input of another type', { input: 5 }, 400, { code: 'invalid_type', param: 'input' }],
  ['an item that is not an object', { input: [5] }, 400, { code: 'invalid_type', param: 'input[0]' }],
  [
    'an unknown role',
    { input: [{ role: 'tool', content: '' }] },
    400,
    { code: 'invalid_value', param: 'input[0].role' },
  ],
  [
    'an unknown part',
    { input: [{ role: 'user', content: [{ type: 'text' }] }] },
    400,
    { param: 'input[0].content[0].type' },
  ],
  [
    'an output of no call',
    { input: [{ type: 'function_call_output', call_id: 'c', output: '' }] },
    400,
    { param: 'input' },
  ],
  ['an unknown item', { input: [{ type: 'item_reference', id: 'msg_x' }] }, 400, { param: 'input' }],
  ['a limit too low', { max_output_tokens: 1 }, 400, { code: 'integer_below_min_value', param: 'max_output_tokens' }],
  ['the background', { background: true }, 400, { code: 'unsupported_parameter', param: 'background' }],
  ['a conversation', { conversation: 'conv_1' }, 404, { param: 'conversation' }],
  ['two histories', { conversation: 'c', previous_response_id: 'r' }, 400, { code: 'mutually_exclusive_parameters' }],
]

for (const [title, more, status, error] of BAD) {
  t.test(`refused as a provider would: ${title}`, async t => {
    const answer = await post(await simulator(t), PATH, { model: 'sim-text', input: 'Hello', ...more })
    t.equal(answer.status, status)
    t.match(JSON.parse(answer.text), { error: { type: 'invalid_request_error', message: String, ...error } })
  })
}
