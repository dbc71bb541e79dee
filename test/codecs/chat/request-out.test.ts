import t from 'tap'
import { chat } from '../../../src/codecs/chat/index.js'
import type { Traits } from '../../../src/core/codec.js'
import type { JsonObject } from '../../../src/core/json.js'
import type { Part, TextRequest, Turn } from '../../../src/core/text.js'
import { plain, requestOf, type TestTarget, targetOf } from '../support.js'

function encode(more: Partial<TextRequest>, traits: Traits = {}): { body: JsonObject; target: TestTarget } {
  const target = targetOf(chat, traits)
  return { body: plain(chat.client.encodeRequest(requestOf(more), target)) as JsonObject, target }
}

function messagesOf(turns: readonly Turn[], traits: Traits = {}): { messages: unknown; lost: readonly string[] } {
  const { body, target } = encode({ turns }, traits)
  return { messages: body.messages, lost: target.lost.map(({ field, at = '' }) => `${field} ${at}`.trim()) }
}

const user = (...parts: readonly Part[]): Turn => ({ role: 'user', parts })
const assistant = (...parts: readonly Part[]): Turn => ({ role: 'assistant', parts })
const text = (text: string): Part => ({ type: 'text', text })
const call = (id: string): Part => ({ type: 'call', id, name: 'look', arguments: '' })
const IMAGE = { type: 'media', kind: 'image', mime: 'image/png', source: { base64: 'AAAA' }, at: 'here' } as const

t.test('the model is the upstream’s, and a stream always asks for usage', async t => {
  t.match(encode({ stream: true, streamUsage: false }).body, {
    model: 'upstream-model',
    stream: true,
    stream_options: { include_usage: true },
  })
  t.notOk('stream' in encode({}).body)
})

t.test('instructions have the role that the model wants', async t => {
  const system = [{ type: 'text', text: 'Be kind.' }] as const
  t.match(encode({ system }).body.messages, [{ role: 'system', content: 'Be kind.' }, { role: 'user' }])
  t.match(encode({ system }, { system_role: 'developer' }).body.messages, [{ role: 'developer' }, { role: 'user' }])
})

t.test('the limit is named as the model wants it', async t => {
  t.match(encode({ maxTokens: 9 }).body, { max_completion_tokens: 9 })
  t.match(encode({ maxTokens: 9 }, { max_tokens_field: 'max_tokens' }).body, { max_tokens: 9 })
})

t.test('models that refuse sampling get none, and it is said', async t => {
  const { body, target } = encode({ temperature: 1, topP: 1, topK: 3 }, { sampling: false })
  t.notOk('temperature' in body || 'top_p' in body || 'top_k' in body)
  t.same(target.lost.map(({ field }) => field).sort(), ['temperature', 'topK', 'topP'])
})

t.test('a budget becomes the effort that holds it; models without effort get none', async t => {
  t.match(encode({ reasoning: { budget: 5000 } }).body, { reasoning_effort: 'medium' })
  const { body, target } = encode({ reasoning: { effort: 'high' } }, { reasoning: 'none' })
  t.notOk('reasoning_effort' in body)
  t.match(target.lost, [{ field: 'effort' }])
})

t.test('results come first, one message each, and their media in a message behind them', async t => {
  const { messages, lost } = messagesOf([
    user(text('Look.')),
    assistant(call('call_1'), call('call_2')),
    user({ type: 'result', id: 'call_1', parts: [text('Here:') as never, IMAGE], at: 'first' }),
    user(text('Well?'), { type: 'result', id: 'call_2', parts: [text('gone') as never], error: true, at: 'second' }),
  ])
  t.match(messages, [
    { role: 'user', content: 'Look.' },
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'call_1', function: { arguments: '{}' } }, { id: 'call_2' }],
    },
    { role: 'tool', tool_call_id: 'call_1', content: [{ text: 'Here:' }, { text: /next message/ }] },
    { role: 'tool', tool_call_id: 'call_2', content: 'Error: gone' },
    { role: 'user', content: [{ text: /call_1/ }, { image_url: { url: 'data:image/png;base64,AAAA' } }] },
    { role: 'user', content: 'Well?' },
  ])
  t.same(lost, ['resultMedia here', 'resultError second'])
})

t.test('thoughts go back to where their upstream had them', async t => {
  const seal = (value: string): Part => ({ type: 'reasoning', text: 'Hm.', seal: { by: 'chat', value } })
  const last = (part: Part): unknown =>
    (messagesOf([assistant(part, text('a')), user(text('b'))]).messages as [unknown])[0]
  t.match(last(seal('reasoning_content')), { reasoning_content: 'Hm.', content: 'a' })
  t.match(last(seal('reasoning')), { reasoning: 'Hm.', content: 'a' })
  t.match(last(seal('thinking')), {
    content: [
      { type: 'thinking', thinking: [{ type: 'text', text: 'Hm.' }] },
      { type: 'text', text: 'a' },
    ],
  })
  t.match(last(seal('{"type":"reasoning.text","signature":"s","format":"f"}')), {
    reasoning_details: [{ type: 'reasoning.text', text: 'Hm.', signature: 's', format: 'f' }],
  })
  t.match(last({ type: 'reasoning', text: 'Hm.' }), { reasoning_content: 'Hm.' }, 'the name that most servers have')
})

t.test('thoughts that another protocol sealed are dropped, and that is said', async t => {
  const sealed: Part = { type: 'reasoning', text: 'Hm.', seal: { by: 'messages', value: 's' }, at: 'there' }
  const { messages, lost } = messagesOf([assistant(sealed, text('a')), user(text('b'))])
  t.same((messages as [unknown])[0], { role: 'assistant', content: 'a' })
  t.same(lost, ['reasoningParts there'])
  const plainThought: Part = { type: 'reasoning', text: 'Hm.', at: 'there' }
  const none = messagesOf([assistant(plainThought, text('a')), user(text('b'))], { reasoning: 'none' })
  t.same(none.lost, ['reasoningParts there'], 'and any, where the model knows none')
})

t.test('what an upstream sealed onto a call or a text goes back to it', async t => {
  const seal = { by: 'chat', value: '{"theirs":{"signature":"s"}}' }
  const { messages } = messagesOf([
    assistant({ ...text('a'), seal } as Part, { ...call('call_1'), seal } as Part),
    user(text('b')),
  ])
  const extra_content = { theirs: { signature: 's' } }
  t.match(messages, [{ extra_content, tool_calls: [{ extra_content }] }, {}])
})

t.test('grammars of tools, from either form', async t => {
  const grammar = { definition: 'start: "a"', syntax: 'lark' }
  for (const format of [
    { type: 'grammar', ...grammar },
    { type: 'grammar', grammar },
  ]) {
    const { body } = encode({ tools: [{ type: 'custom', name: 'a', format }] })
    t.same(body.tools, [{ type: 'custom', custom: { name: 'a', format: { type: 'grammar', grammar } } }])
  }
})

t.test('a search tool of another protocol keeps its place and size', async t => {
  const place = { type: 'approximate', city: 'Oslo', region: null }
  const value = { type: 'web_search', search_context_size: 'low', user_location: place, filters: {} }
  const { body, target } = encode({
    tools: [{ type: 'hosted', kind: 'web_search', name: 'web_search', of: 'responses', value, at: 'tools[0]' }],
  })
  t.same(body.web_search_options, {
    search_context_size: 'low',
    user_location: { type: 'approximate', approximate: { city: 'Oslo' } },
  })
  t.match(target.lost, [{ field: 'hostedWebSearch', at: 'tools[0]' }])
})

t.test(
  'tools of other protocols that run at the upstream are left out by name, and refused where they are forced',
  async t => {
    const hosted = { type: 'hosted', name: 'bash', of: 'messages', value: {}, at: 'tools[0]' } as const
    for (const [kind, field] of [
      ['code_execution', 'hostedCode'],
      ['other', 'hostedOther'],
    ] as const) {
      const { body, target } = encode({ tools: [{ ...hosted, kind }] })
      t.equal(body.tools, undefined)
      t.match(target.lost, [{ field, at: 'tools[0]', why: /'bash'/ }])
      const toolChoice = { type: 'tool', name: 'bash' } as const
      const refusal = { code: 'untranslatable', message: /'bash'/, details: { param: 'tool_choice' } }
      t.throws(() => encode({ tools: [{ ...hosted, kind }], toolChoice }), refusal)
    }
  },
)

t.test('more than four stop sequences are cut, and that is said', async t => {
  const { body, target } = encode({ stop: ['a', 'b', 'c', 'd', 'e'] })
  t.same(body.stop, ['a', 'b', 'c', 'd'])
  t.match(target.lost, [{ field: 'stop', why: /first 4/ }])
})

t.test('an end user whose name is too long is sent as a digest', async t => {
  const long = 'u'.repeat(65)
  const { body, target } = encode({ user: long, safetyId: `${long}!` })
  t.match([body.user, body.safety_identifier], [/^[0-9a-f]{64}$/, /^[0-9a-f]{64}$/])
  t.not(body.user, body.safety_identifier)
  t.equal(encode({ user: long }).body.user, body.user, 'the same in every request')
  t.match(target.lost, [{ field: 'user' }, { field: 'safetyId' }])
  const most = encode({ user: 'u'.repeat(64), safetyId: 's' })
  t.match(most.body, { user: 'u'.repeat(64), safety_identifier: 's' })
  t.same(most.target.lost, [])
})

t.test('metadata goes with answers that are stored', async t => {
  const metadata = { team: 'a' }
  t.match(encode({ metadata, store: true }), { body: { metadata, store: true }, target: { lost: [] } })
  for (const store of [{}, { store: false }]) {
    const { body, target } = encode({ metadata, ...store })
    t.notOk('metadata' in body)
    t.match(target.lost, [{ field: 'metadata' }])
  }
})

t.test('a schema without a name gets one that the protocol allows', async t => {
  const format = (name?: string): unknown =>
    encode({ format: { type: 'schema', schema: {}, ...(name !== undefined && { name }) } }).body.response_format
  t.match(format(), { json_schema: { name: 'answer' } })
  t.match(format('my schema!'), { json_schema: { name: 'my_schema_' } })
})

t.test('an upstream is asked to fetch images alone, and only where it does', async t => {
  const image = { ...IMAGE, source: { url: 'https://images.example/a.png' } } as const
  t.equal(chat.client.takesUrl(image, {}), true)
  t.equal(chat.client.takesUrl(image, { fetches_urls: false }), false)
  t.equal(chat.client.takesUrl({ ...image, kind: 'document' }, {}), false)
})

t.test('a request without any message is refused', async t => {
  t.throws(() => encode({ turns: [] }), { code: 'untranslatable' })
})
