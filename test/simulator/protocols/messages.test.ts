import t from 'tap'
import { dataOf, post, type Received, simulator } from '../support.js'

const PATH = '/v1/messages'
const WEATHER = {
  name: 'get_weather',
  input_schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
}
const TIME = { name: 'get_time', input_schema: { type: 'object' } }
const THINK = { type: 'enabled', budget_tokens: 1024 }
const QUESTION = { role: 'user', content: 'get_weather city=Oslo' }

// biome-ignore lint/suspicious/noExplicitAny: parsed answers are looked into freely here
type Json = any

function body(more: object = {}): object {
  return { model: 'sim-messages', max_tokens: 4096, messages: [{ role: 'user', content: 'Hello' }], ...more }
}

function user(...content: readonly object[]): { messages: readonly object[] } {
  return { messages: [{ role: 'user', content }] }
}

async function ask(t: Parameters<typeof simulator>[0], more: object): Promise<{ status: number; json: Json }> {
  const answer = await post(await simulator(t), PATH, body(more))
  return { status: answer.status, json: JSON.parse(answer.text) }
}

function eventsOf({ text }: Received): readonly Json[] {
  return dataOf(text).map(data => JSON.parse(data))
}

t.test('a message has its blocks, its reason to stop and its usage', async t => {
  const answer = await post(await simulator(t), PATH, body())
  t.equal(answer.headers['content-type'], 'application/json')
  t.match(answer.headers['request-id'], /^req_[0-9a-f]{32}$/)
  t.match(JSON.parse(answer.text), {
    id: /^msg_01/,
    type: 'message',
    role: 'assistant',
    model: 'sim-messages',
    content: [{ type: 'text', text: /^You said: "Hello"/ }],
    stop_reason: 'end_turn',
    stop_sequence: null,
    usage: { input_tokens: Number, cache_read_input_tokens: 0, cache_creation_input_tokens: 0, output_tokens: Number },
  })
})

t.test('a stream names its events, pings, and ends with message_stop', async t => {
  const answer = await post(await simulator(t), PATH, body({ stream: true }))
  t.equal(answer.headers['content-type'], 'text/event-stream; charset=utf-8')
  const events = eventsOf(answer)
  t.same(
    [...answer.text.matchAll(/^event: (.*)$/gm)].map(([, name]) => name),
    events.map(event => event.type),
  )
  t.same(
    [...new Set(events.map(event => event.type))],
    [
      'message_start',
      'content_block_start',
      'ping',
      'content_block_delta',
      'content_block_stop',
      'message_delta',
      'message_stop',
    ],
  )
  t.match(events[0].message, { content: [], stop_reason: null, usage: { output_tokens: 1 } })
  t.match(events.at(-2), { delta: { stop_reason: 'end_turn' }, usage: { output_tokens: Number } })
})

t.test('several tools are called at once, and their results are read', async t => {
  const upstream = await simulator(t)
  const question = { role: 'user', content: 'get_time and get_weather city=Rome' }
  const tools = [WEATHER, TIME]
  const first = JSON.parse((await post(upstream, PATH, body({ messages: [question], tools }))).text)
  t.match(first, {
    stop_reason: 'tool_use',
    content: [
      { type: 'tool_use', id: /^toolu_01/, name: 'get_time', input: {} },
      { type: 'tool_use', id: /^toolu_01/, name: 'get_weather', input: { city: 'Rome' } },
    ],
  })
  const results = first.content.map(({ id }: Json, at: number) => ({
    type: 'tool_result',
    tool_use_id: id,
    content: `result ${at}`,
    is_error: at === 1,
  }))
  const messages = [question, { role: 'assistant', content: first.content }, { role: 'user', content: results }]
  const second = JSON.parse((await post(upstream, PATH, body({ messages, tools }))).text)
  t.match(second.content[0].text, 'The tool answered: "result 0". The tool failed: "result 1".')
})

t.test('arguments are streamed in pieces, the first of them empty', async t => {
  const answer = await post(await simulator(t), PATH, body({ messages: [QUESTION], tools: [WEATHER], stream: true }))
  const pieces = eventsOf(answer).flatMap(({ delta }) =>
    delta?.type === 'input_json_delta' ? [delta.partial_json] : [],
  )
  t.equal(pieces[0], '')
  t.ok(pieces.length > 3)
  t.same(JSON.parse(pieces.join('')), { city: 'Oslo' })
})

t.test('tool_choice decides, and one tool at a time can be asked for', async t => {
  const names = async (tool_choice: object, content = 'Hello') => {
    const { json } = await ask(t, { messages: [{ role: 'user', content }], tools: [WEATHER, TIME], tool_choice })
    return json.content.flatMap((block: Json) => (block.type === 'tool_use' ? [block.name] : []))
  }
  const both = 'get_time and get_weather'
  t.same(await names({ type: 'auto' }), [])
  t.same(await names({ type: 'any' }), ['get_weather'])
  t.same(await names({ type: 'tool', name: 'get_time' }), ['get_time'])
  t.same(await names({ type: 'none' }, both), [])
  t.same(await names({ type: 'auto' }, both), ['get_time', 'get_weather'])
  t.same(await names({ type: 'auto', disable_parallel_tool_use: true }, both), ['get_time'])
})

t.test('a thought is signed, and the next turn takes it back as it was', async t => {
  const upstream = await simulator(t)
  const turn = { tools: [WEATHER], thinking: THINK }
  const first = JSON.parse((await post(upstream, PATH, body({ ...turn, messages: [QUESTION] }))).text)
  const [thought, call] = first.content
  t.match(thought, { type: 'thinking', thinking: /\S/, signature: /^[\w+/]{86}==$/ })
  t.match(call, { type: 'tool_use' })
  t.match(first.usage, { output_tokens_details: { thinking_tokens: 32 } })
  const result = { role: 'user', content: [{ type: 'tool_result', tool_use_id: call.id, content: '4 degrees' }] }
  const next = async (...content: readonly object[]) => {
    const messages = [QUESTION, { role: 'assistant', content }, result]
    const { status, text } = await post(upstream, PATH, body({ ...turn, messages }))
    return { status, message: JSON.parse(text).error?.message }
  }
  t.match(await next(thought, call), { status: 200 })
  t.match(await next({ ...thought, thinking: `${thought.thinking}!` }, call), {
    status: 400,
    message: 'messages.1.content.0: Invalid `signature` in `thinking` block',
  })
  t.match(await next({ ...thought, signature: Buffer.from('another').toString('base64') }, call), { status: 400 })
  t.match(await next(call), {
    status: 400,
    message: /Expected `thinking` or `redacted_thinking`, but found `tool_use`/,
  })
  t.match(await next(call, thought), { status: 400 })
})

t.test('the adaptive way asks for no thought, and takes its effort from output_config', async t => {
  const { json } = await ask(t, { thinking: { type: 'adaptive' }, output_config: { effort: 'max' } })
  t.equal(json.usage.output_tokens_details.thinking_tokens, 512)
  const call = { type: 'tool_use', id: 'a', name: 'get_weather', input: {} }
  const result = { type: 'tool_result', tool_use_id: 'a' }
  const messages = [QUESTION, { role: 'assistant', content: [call] }, { role: 'user', content: [result] }]
  t.equal((await ask(t, { messages, tools: [WEATHER], thinking: { type: 'adaptive' } })).status, 200)
})

t.test('thoughts that are left out, and those that are redacted, come back as well', async t => {
  const upstream = await simulator(t)
  const again = async (question: string, thinking: object) => {
    const messages = [{ role: 'user', content: question }]
    const first = JSON.parse((await post(upstream, PATH, body({ messages, thinking }))).text)
    const more = [...messages, { role: 'assistant', content: first.content }, { role: 'user', content: 'And?' }]
    const { status } = await post(upstream, PATH, body({ messages: more, thinking }))
    return { block: first.content[0], status }
  }
  const omitted = await again('Hello', { ...THINK, display: 'omitted' })
  t.match(omitted, { block: { type: 'thinking', thinking: '', signature: /==$/ }, status: 200 })
  const redacted = await again('simulate_redacted_thinking', THINK)
  t.match(redacted, { block: { type: 'redacted_thinking', data: /==$/ }, status: 200 })
  const forged = [
    {
      role: 'assistant',
      content: [
        { type: 'redacted_thinking', data: 'x' },
        { type: 'text', text: 'a' },
      ],
    },
  ]
  const { status } = await ask(t, { messages: [QUESTION, ...forged, QUESTION] })
  t.equal(status, 400)
})

t.test('redacted thinking is whole in the start of its block', async t => {
  const messages = [{ role: 'user', content: 'simulate_redacted_thinking' }]
  const answer = await post(await simulator(t), PATH, body({ messages, thinking: THINK, stream: true }))
  const own = eventsOf(answer).filter(({ index }) => index === 0)
  t.match(own, [
    { type: 'content_block_start', content_block: { type: 'redacted_thinking', data: /==$/ } },
    { type: 'content_block_stop' },
  ])
})

t.test('structured output fills its schema', async t => {
  const schema = {
    type: 'object',
    properties: { name: { type: 'string' }, born: { type: 'integer' } },
    required: ['name', 'born'],
    additionalProperties: false,
  }
  const messages = [{ role: 'user', content: 'name=Ada born=1815' }]
  const { json } = await ask(t, { messages, output_config: { format: { type: 'json_schema', schema } } })
  t.same(JSON.parse(json.content[0].text), { name: 'Ada', born: 1815 })
})

t.test('images and documents are acknowledged, also in the results of tools', async t => {
  const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } }
  const { json } = await ask(
    t,
    user(
      { type: 'text', text: 'Look.' },
      image,
      { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } },
      { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'AAAA' } },
      { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'words' } },
      { type: 'document', source: { type: 'url', url: 'https://example.com/a.pdf' } },
    ),
  )
  t.match(json.content[0].text, 'I see 2 images (image/png, 3 bytes; by reference).')
  t.match(json.content[0].text, 'I have 3 files (application/pdf, 3 bytes; text/plain, 5 bytes; application/pdf).')
  const call = { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'f', input: {} }] }
  const result = { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content: [image] }] }
  const told = await ask(t, { messages: [QUESTION, call, result] })
  t.match(told.json.content[0].text, 'The tool answered: "". I see 1 image (image/png, 3 bytes).')
})

t.test('a document that may be cited is', async t => {
  const source = { type: 'text', media_type: 'text/plain', data: 'The sky is blue.' }
  const document = { type: 'document', source, title: 'Sky', citations: { enabled: true } }
  const citation = { type: 'char_location', cited_text: 'The sky is blue.', document_index: 0, document_title: 'Sky' }
  const { json } = await ask(t, user(document))
  t.match(json.content[0], { type: 'text', citations: [{ ...citation, start_char_index: 0, end_char_index: 16 }] })
  const stream = await post(await simulator(t), PATH, body({ ...user(document), stream: true }))
  const deltas = eventsOf(stream).flatMap(({ delta }) => (delta?.type === 'citations_delta' ? [delta] : []))
  t.match(deltas, [{ citation }])
  const web = await ask(t, { messages: [{ role: 'user', content: 'simulate_citation' }] })
  t.match(web.json.content[0].citations, [{ type: 'web_search_result_location', url: /^https:/ }])
})

t.test('a stop sequence and the limit end the text, and say so', async t => {
  const stopped = await ask(t, { stop_sequences: ['simulator'] })
  t.match(stopped.json, { stop_reason: 'stop_sequence', stop_sequence: 'simulator' })
  t.notMatch(stopped.json.content[0].text, 'simulator')
  t.match((await ask(t, { max_tokens: 3 })).json, { stop_reason: 'max_tokens', usage: { output_tokens: 3 } })
  t.match((await ask(t, { max_tokens: 0 })).json, { stop_reason: 'max_tokens', content: [] })
})

t.test('a refusal, and a prompt that is blocked', async t => {
  const refused = await ask(t, { messages: [{ role: 'user', content: 'simulate_refusal' }] })
  t.match(refused.json, { stop_reason: 'refusal', stop_details: { type: 'refusal' }, content: [{ type: 'text' }] })
  const blocked = await ask(t, { messages: [{ role: 'user', content: 'simulate_block' }] })
  t.match(blocked.json, { stop_reason: 'refusal', content: [] })
})

t.test('what is marked is written to the cache first, and read from it in the next turn', async t => {
  const system = [{ type: 'text', text: 'Be very brief.', cache_control: { type: 'ephemeral', ttl: '1h' } }]
  const first = (await ask(t, { system })).json
  t.match(first.usage, {
    cache_creation_input_tokens: 5,
    cache_read_input_tokens: 0,
    cache_creation: { ephemeral_1h_input_tokens: 5, ephemeral_5m_input_tokens: 0 },
  })
  const plain = (await ask(t, { system: 'Be very brief.' })).json
  t.equal(plain.usage.input_tokens, first.usage.input_tokens + 5)
  const marked = { type: 'text', text: 'More', cache_control: { type: 'ephemeral' } }
  const messages = [QUESTION, { role: 'assistant', content: 'Yes.' }, { role: 'user', content: [marked] }]
  t.match((await ask(t, { system, messages })).json.usage, {
    cache_read_input_tokens: 5,
    cache_creation: { ephemeral_1h_input_tokens: 0, ephemeral_5m_input_tokens: Number },
  })
  t.match((await ask(t, { cache_control: { type: 'ephemeral' } })).json.usage, { cache_creation_input_tokens: 2 })
})

t.test('the tokens of a prompt can be counted before', async t => {
  const upstream = await simulator(t)
  const prompt = { model: 'sim-messages', messages: [QUESTION], tools: [WEATHER], system: 'Be brief.' }
  const counted = JSON.parse((await post(upstream, `${PATH}/count_tokens`, prompt)).text)
  const spent = JSON.parse((await post(upstream, PATH, { ...prompt, max_tokens: 9 })).text)
  t.same(counted, { input_tokens: spent.usage.input_tokens })
})

t.test('a model that reasons by itself takes no sampling', async t => {
  const model = 'sim-messages?reasoning'
  t.match((await ask(t, { model })).json.content, [{ type: 'thinking' }, { type: 'text' }])
  t.match((await ask(t, { model, temperature: 1 })).status, 400)
})

t.test('models, page by page, for those who put their key where this family does', async t => {
  const { origin } = await simulator(t)
  const get = async (path: string) => {
    const response = await fetch(`${origin}/v1/models${path}`, { headers: { 'x-api-key': 'none' } })
    return { status: response.status, json: (await response.json()) as Json }
  }
  t.match((await get('?limit=1')).json, {
    data: [{ type: 'model', id: 'sim-messages', created_at: '2025-01-01T00:00:00Z' }],
    has_more: false,
    first_id: 'sim-messages',
    last_id: 'sim-messages',
  })
  t.match((await get('/sim-other')).json, { type: 'model', id: 'sim-other' })
  const gone = await get('/other%3Fstatus=404')
  t.match(gone, { status: 404, json: { type: 'error', error: { type: 'not_found_error' } } })
})

t.test('a model that is not there, another method, an overload', async t => {
  const upstream = await simulator(t)
  const unknown = await post(upstream, PATH, body({ model: 'another?status=404' }))
  t.match(unknown, { status: 404 })
  t.match(JSON.parse(unknown.text), {
    type: 'error',
    error: { type: 'not_found_error', message: 'Not found' },
    request_id: /^req_/,
  })
  t.match(await (await fetch(`${upstream.origin}${PATH}`)).json(), { error: { type: 'invalid_request_error' } })
  const overloaded = await post(upstream, PATH, body({ model: 'sim-messages?status=529&retry-after=3' }))
  t.match(overloaded, { status: 529, headers: { 'retry-after': '3' } })
  t.match(JSON.parse(overloaded.text), { error: { type: 'overloaded_error', message: 'Overloaded' } })
})

const CALL = { type: 'tool_use', id: 'a', name: 'f', input: {} }
const RESULT = { type: 'tool_result', tool_use_id: 'a' }
const OBJECT = { type: 'object', properties: { a: { type: 'integer', minimum: 1 } }, additionalProperties: false }

const BAD: readonly (readonly [title: string, more: object, message: string | RegExp])[] = [
  ['no max_tokens', { max_tokens: undefined }, 'max_tokens: Field required'],
  ['a limit that is text', { max_tokens: '5' }, 'max_tokens: Input should be a valid integer'],
  ['no model', { model: undefined }, 'model: Field required'],
  ['no messages', { messages: undefined }, 'messages: Field required'],
  ['empty messages', { messages: [] }, 'messages: at least one message is required'],
  ['an unknown member', { n: 2 }, 'n: Extra inputs are not permitted'],
  [
    'an assistant who begins',
    { messages: [{ role: 'assistant', content: 'Hi' }] },
    /first message must use the "user"/,
  ],
  ['an unknown role', { messages: [{ role: 'tool', content: 'Hi' }] }, /^messages.0.role: Input should be 'user'/],
  ['no content', { messages: [{ role: 'user' }] }, 'messages.0.content: Field required'],
  ['empty content', { messages: [{ role: 'user', content: '' }] }, /must have non-empty content/],
  ['an empty text', user({ type: 'text', text: '' }), 'messages.0: text content blocks must be non-empty'],
  [
    'a blank text',
    user({ type: 'text', text: ' ' }),
    'messages.0: text content blocks must contain non-whitespace text',
  ],
  ['an unknown block', user({ type: 'image_url' }), /^messages.0.content.0: Input tag 'image_url'/],
  ['a call by a user', user(CALL), /Input tag 'tool_use'/],
  ['a hot model', { temperature: 1.5 }, 'temperature: Input should be less than or equal to 1'],
  ['an empty system', { system: [{ type: 'text', text: '' }] }, /text content blocks must be non-empty/],
  ['a result of no call', user(RESULT), /^messages.0.content.0: unexpected `tool_use_id`/],
  [
    'a call without a result',
    { messages: [QUESTION, { role: 'assistant', content: [CALL] }, QUESTION] },
    /`tool_use` ids were found without `tool_result` blocks immediately after: a/,
  ],
  ['a call at the end', { messages: [QUESTION, { role: 'assistant', content: [CALL] }] }, /without `tool_result`/],
  [
    'a result that comes late in its message',
    {
      messages: [
        QUESTION,
        { role: 'assistant', content: [CALL] },
        { role: 'user', content: [{ type: 'text', text: 'Hm.' }, RESULT] },
      ],
    },
    /without `tool_result`/,
  ],
  ['an id of another alphabet', user({ ...RESULT, tool_use_id: 'a b' }), /String should match pattern/],
  ['an image by file', user({ type: 'image', source: { type: 'file' } }), /file_id/],
  [
    'an image of another type',
    user({ type: 'image', source: { type: 'base64', media_type: 'image/bmp', data: 'AAAA' } }),
    /media_type: Input should be 'image\/jpeg'/,
  ],
  [
    'a data URI for base64',
    user({ type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'data:image/png;base64,AAAA' } }),
    /invalid base64 data/,
  ],
  ['an image by another scheme', user({ type: 'image', source: { type: 'url', url: 'ftp://a' } }), /HTTP and HTTPS/],
  ['little to think with', { thinking: { type: 'enabled', budget_tokens: 10 } }, /greater than or equal to 1024/],
  ['more to think than to say', { thinking: { ...THINK, budget_tokens: 4096 } }, /`max_tokens` must be greater/],
  ['a cold thinker', { thinking: THINK, temperature: 0 }, /may only be set to 1 when thinking/],
  ['top_k and thinking', { thinking: THINK, top_k: 5 }, /`top_k` must be unset/],
  ['thinking and a tool by force', { thinking: THINK, tools: [TIME], tool_choice: { type: 'any' } }, /forces tool use/],
  ['a choice without tools', { tool_choice: { type: 'any' } }, /only be specified while providing `tools`/],
  ['a tool that is not there', { tools: [TIME], tool_choice: { type: 'tool', name: 'x' } }, /not found in provided/],
  ['a tool without a schema', { tools: [{ name: 'f' }] }, 'tools.0.input_schema: Field required'],
  ['a tool with a bad name', { tools: [{ ...TIME, name: 'a b' }] }, /^tools.0.custom.name: String should match/],
  [
    'a schema that is not an object',
    { tools: [{ name: 'f', input_schema: { type: 'string' } }] },
    /should be 'object'/,
  ],
  ['two tools of one name', { tools: [TIME, TIME] }, 'tools: Tool names must be unique.'],
  [
    'an open schema',
    { output_config: { format: { type: 'json_schema', schema: { type: 'object' } } } },
    /'additionalProperties' must be explicitly set to false/,
  ],
  [
    'a schema with bounds',
    { output_config: { format: { type: 'json_schema', schema: OBJECT } } },
    /property 'minimum' is not supported/,
  ],
  [
    'five marks',
    user(...Array(5).fill({ type: 'text', text: 'a', cache_control: { type: 'ephemeral' } })),
    /maximum of 4 blocks with cache_control/,
  ],
  ['a blank stop sequence', { stop_sequences: [' '] }, /must contain non-whitespace/],
]

for (const [title, more, message] of BAD) {
  t.test(`refused as a provider would: ${title}`, async t => {
    const { status, json } = await ask(t, more)
    t.equal(status, 400)
    t.match(json, { type: 'error', error: { type: 'invalid_request_error', message } })
  })
}
