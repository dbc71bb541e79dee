import t from 'tap'
import { chat } from '../../../src/codecs/chat/index.js'
import type { JsonObject } from '../../../src/core/json.js'
import type { Candidate, Part, TextResult } from '../../../src/core/text.js'
import { answerTo, plain, requestOf } from '../support.js'

function answerOf(message: JsonObject, more: JsonObject = {}, choice: JsonObject = {}): JsonObject {
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1_700_000_000,
    model: 'upstream-model',
    choices: [{ index: 0, message: { role: 'assistant', ...message }, finish_reason: 'stop', ...choice }],
    ...more,
  }
}

function candidateOf(message: JsonObject, choice: JsonObject = {}): Candidate {
  return chat.client.decodeResult(answerOf(message, {}, choice)).candidates[0]!
}

function encode(parts: readonly Part[], more: Partial<TextResult> = {}, body: JsonObject = {}): JsonObject {
  const result = { id: 'a', model: 'b', candidates: [{ parts, end: { reason: 'stop' as const } }], ...more }
  return plain(chat.server.encodeResult(result, answerTo(requestOf(), body))) as JsonObject
}

function messageOf(document: JsonObject): JsonObject {
  return (document as unknown as { choices: [{ message: JsonObject }] }).choices[0].message
}

t.test('usage: thoughts and cached tokens, wherever servers tell of them', async t => {
  const usageOf = (usage: JsonObject): unknown => chat.client.decodeResult(answerOf({ content: 'a' }, { usage })).usage
  t.same(
    usageOf({
      prompt_tokens: 20,
      completion_tokens: 30,
      total_tokens: 50,
      prompt_tokens_details: { cached_tokens: 5, cache_write_tokens: 2, audio_tokens: 1 },
      completion_tokens_details: { reasoning_tokens: 25, audio_tokens: 3 },
    }),
    { input: 20, output: 30, cached: 5, cacheWrite: 2, reasoning: 25, inputAudio: 1, outputAudio: 3 },
  )
  t.match(usageOf({ prompt_tokens: 20, prompt_cache_hit_tokens: 8 }), { input: 20, cached: 8 })
  t.match(usageOf({ prompt_tokens: 20, num_cached_tokens: 9, prompt_tokens_details: null }), { cached: 9 })
  t.match(
    usageOf({
      prompt_tokens: 291,
      completion_tokens: 26,
      total_tokens: 513,
      completion_tokens_details: { reasoning_tokens: 196 },
    }),
    { output: 222, reasoning: 196 },
    'servers that leave thoughts out of the answer',
  )
  t.equal(
    usageOf({ prompt_tokens: -1, completion_tokens: 'x', total_tokens: 1e300 }),
    undefined,
    'nonsense is no count',
  )
})

t.test('why an answer ended', async t => {
  const calls = [{ id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }]
  const endOf = (finish_reason: string | null, message: JsonObject = { content: 'a' }): unknown =>
    candidateOf(message, { finish_reason }).end
  t.same(endOf('stop'), { reason: 'stop' })
  t.same(endOf('length'), { reason: 'length' })
  t.same(endOf('content_filter'), { reason: 'filter' })
  t.same(endOf('tool_calls', { tool_calls: calls }), { reason: 'tool' })
  t.same(endOf('stop', { tool_calls: calls }), { reason: 'tool' }, 'a call by name ends with stop')
  t.same(endOf(null, { tool_calls: calls }), { reason: 'tool' })
  t.same(endOf('tool_calls'), { reason: 'stop' }, 'without a call there is none to answer')
  t.same(endOf('stop', { content: null, refusal: 'No.' }), { reason: 'refusal' })
  t.same(endOf('weird'), { reason: 'other', detail: 'weird' })
})

t.test('a filter may leave no message at all', async t => {
  const body = { id: 'a', choices: [{ index: 0, finish_reason: 'content_filter' }] }
  t.same(chat.client.decodeResult(body).candidates, [{ parts: [], end: { reason: 'filter' } }])
})

t.test('thoughts, in each form that servers have', async t => {
  const seal = (value: string): unknown => ({ by: 'chat', value })
  const first = (message: JsonObject): unknown => candidateOf({ content: 'a', ...message }).parts[0]
  t.same(first({ reasoning_content: 'Hm.' }), { type: 'reasoning', text: 'Hm.', seal: seal('reasoning_content') })
  t.same(first({ reasoning: 'Hm.' }), { type: 'reasoning', text: 'Hm.', seal: seal('reasoning') })
  t.same(first({ content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'Hm.' }] }] }), {
    type: 'reasoning',
    text: 'Hm.',
    seal: seal('thinking'),
  })
  t.match(
    candidateOf({
      content: 'a',
      reasoning: 'Hm.',
      reasoning_details: [
        { type: 'reasoning.summary', summary: 'Hm.', format: 'f', index: 0 },
        { type: 'reasoning.encrypted', data: 'd', id: 'rs_1', format: 'f', index: 0 },
      ],
    }).parts,
    [
      { type: 'reasoning', text: 'Hm.', summary: true, seal: { by: 'chat' } },
      { type: 'reasoning', text: '', id: 'rs_1', seal: { by: 'chat', value: /"data":"d"/ } },
      { type: 'text' },
    ],
  )
})

t.test('calls without an id get one that is the same each time', async t => {
  const calls = [1, 2].map(() => ({ id: '', type: 'function', function: { name: 'f', arguments: { a: 1 } } }))
  const ids = (): string[] =>
    candidateOf({ tool_calls: calls }).parts.map(part => (part.type === 'call' ? `${part.id} ${part.arguments}` : ''))
  t.match(ids(), [/^gwcall_chatcmpl1_0_0 {"a":1}$/, /^gwcall_chatcmpl1_0_1 /])
  t.same(ids(), ids())
})

t.test('citations, wherever servers put them', async t => {
  const url_citation = { url: 'https://a.example', title: 'A', start_index: 0, end_index: 1 }
  t.match(
    candidateOf({ content: 'a', annotations: [{ type: 'url_citation', url_citation }, { type: 'file' }] }).parts,
    [{ text: 'a', citations: [{ url: 'https://a.example', title: 'A', start: 0, end: 1 }] }],
  )
  const named = answerOf({ content: 'a' }, { citations: ['https://b.example'] })
  t.match(chat.client.decodeResult(named).candidates[0]?.parts, [{ citations: [{ url: 'https://b.example' }] }])
})

t.test('pictures and speech', async t => {
  const { parts } = candidateOf({
    content: null,
    images: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }],
    audio: { id: 'audio_1', data: 'BBBB', transcript: 'Hi.', expires_at: 1 },
  })
  t.same(parts, [
    { type: 'media', kind: 'image', mime: 'image/png', source: { base64: 'AAAA' } },
    {
      type: 'media',
      kind: 'audio',
      source: { base64: 'BBBB' },
      transcript: 'Hi.',
      seal: { by: 'chat', value: 'audio_1' },
    },
  ])
  t.match(messageOf(encode(parts)), { audio: { id: 'audio_1', data: 'BBBB' }, images: [{ type: 'image_url' }] })
})

t.test('an answer that is an error, or none of this protocol', async t => {
  t.throws(() => chat.client.decodeResult({ error: { message: 'Out of tokens.', code: 400 } }), {
    code: 'upstream_failed',
    message: 'Out of tokens.',
    status: 400,
  })
  t.throws(() => chat.client.decodeResult({ error: { message: 'Slow down.', code: 429 } }), { code: 'rate_limited' })
  for (const body of [null, 1, [], {}, { choices: [] }, { choices: [{ index: 0 }] }, { choices: [{ message: 'a' }] }])
    t.throws(() => chat.client.decodeResult(body), { code: 'bad_upstream_response' })
  const nameless = { id: 'a', choices: [{ message: { tool_calls: [{ id: 'a', function: {} }] } }] }
  t.throws(() => chat.client.decodeResult(nameless), { code: 'bad_upstream_response' })
})

t.test('an answer says what the protocol’s clients look for', async t => {
  const document = encode([{ type: 'text', text: 'Hi.' }], { id: '', model: '' })
  t.match(document, { object: 'chat.completion', id: /^chatcmpl-/, model: 'm', created: 1_700_000_000 })
  t.same(messageOf(document), { role: 'assistant', content: 'Hi.', refusal: null })
  t.notOk('usage' in document, 'usage that no one told is not made up')
  const call: Part = { type: 'call', id: 'c', name: 'f', arguments: '' }
  t.match(messageOf(encode([call])), { content: null, tool_calls: [{ function: { arguments: '{}' } }] })
})

t.test('the ranges of citations count from the beginning of the message', async t => {
  const citations = [{ url: 'https://a.example', start: 1, end: 2 }]
  const { annotations } = messageOf(
    encode([
      { type: 'text', text: 'One. ' },
      { type: 'text', text: 'Two.', citations },
    ]),
  )
  t.match(annotations, [{ url_citation: { start_index: 6, end_index: 7 } }])
})

t.test('thoughts that another protocol sealed come with the seal, and go back to it', async t => {
  const thought: Part = { type: 'reasoning', text: 'Hm.', seal: { by: 'messages', value: 's' } }
  const hidden: Part = { type: 'reasoning', text: '', redacted: true, id: 'r', seal: { by: 'messages', value: 't' } }
  const call: Part = { type: 'call', id: 'c', name: 'f', arguments: '{}', seal: { by: 'generate', value: 'u' } }
  const message = messageOf(encode([thought, hidden, call]))
  t.equal(message.reasoning_content, 'Hm.')
  const body = { messages: [{ role: 'user', content: 'a' }, message] }
  const head = { model: 'm', stream: false }
  t.match(chat.server.decodeRequest(body, head).turns[1]?.parts, [thought, hidden, call])
})

t.test('a client that speaks of functions gets its one function_call', async t => {
  const calls = ['a', 'b'].map((id): Part => ({ type: 'call', id, name: `f_${id}`, arguments: '{}' }))
  const answer = answerTo(requestOf(), { functions: [] })
  const result = { id: 'a', model: 'b', candidates: [{ parts: calls, end: { reason: 'tool' as const } }] }
  t.match(chat.server.encodeResult(result, answer), {
    choices: [{ message: { function_call: { name: 'f_a' }, tool_calls: undefined }, finish_reason: 'function_call' }],
  })
  t.match(answer.lost, [/calls/])
})

t.test('what chat has no word for is said', async t => {
  const answer = answerTo(requestOf())
  const parts: Part[] = [
    { type: 'hosted', of: 'messages', value: {} },
    { type: 'text', text: 'a', citations: [{ title: 'no address' }] },
  ]
  const result = {
    id: 'a',
    model: 'b',
    candidates: [{ parts, end: { reason: 'pause' as const, stopSequence: 'END' } }],
  }
  t.match(chat.server.encodeResult(result, answer), { choices: [{ finish_reason: 'stop' }] })
  t.match(answer.lost, [/hosted/, /citations/, /stop sequence/, /finish reason/])
})
