import t from 'tap'
import { chat } from '../../../src/codecs/chat/index.js'
import { fold } from '../../../src/codecs/fold.js'
import { responses } from '../../../src/codecs/responses/index.js'
import type { Json, JsonObject } from '../../../src/core/json.js'
import type { Part, TextEvent } from '../../../src/core/text.js'
import { answerTo, encodeAll, faultsOf, isTerminal, requestOf } from '../support.js'
import { added, CREATED, completed, done, event, events, frameOf, message, response } from './support.js'

const CALL = { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'f', arguments: '' }
const EMPTY = message('', { content: [], status: 'in_progress' })

function partsOf(...sent: readonly JsonObject[]): readonly Part[] {
  const got = events(CREATED, ...sent)
  t.same(faultsOf(got), [])
  return fold(got).candidates[0]?.parts ?? []
}

/** Part of an output text at a place in a message. */
function textEvent(name: string, members: JsonObject, content_index = 0): JsonObject {
  return event(name, 0, { content_index, ...members })
}

t.test('each event is reported at once', async t => {
  const decoder = responses.client.decodeStream()
  const told = (document: JsonObject): readonly TextEvent[] => decoder.push(frameOf(document))
  t.strictSame(told(CREATED), [{ type: 'start', id: 'resp_1', model: 'up', created: 7 }])
  t.strictSame(told({ ...CREATED, type: 'response.in_progress' }), [])
  t.strictSame(told(added(0, EMPTY)), [])
  const place = { candidate: 0, index: 0 }
  const empty = { type: 'output_text', text: '', annotations: [] }
  t.strictSame(told(textEvent('content_part.added', { part: empty })), [
    { type: 'part-start', ...place, part: { type: 'text', text: '' } },
  ])
  t.strictSame(told(textEvent('output_text.delta', { delta: 'Rain', logprobs: [] })), [
    { type: 'part-delta', ...place, text: 'Rain' },
  ])
  const token = { token: '.', logprob: -1 }
  t.strictSame(told(textEvent('output_text.delta', { delta: '.', logprobs: [token] })), [
    { type: 'part-delta', ...place, text: '.', logprobs: [token] },
  ])
  const cited = { type: 'url_citation', url: 'https://a.example', title: 'A', start_index: 0, end_index: 4 }
  const citation = { own: { of: 'responses', value: cited }, url: 'https://a.example', title: 'A', start: 0, end: 4 }
  t.strictSame(told(textEvent('output_text.annotation.added', { annotation_index: 0, annotation: cited })), [
    { type: 'part-citation', ...place, citation },
  ])
  const whole = { type: 'output_text', text: 'Rain.', annotations: [cited], logprobs: [token] }
  t.strictSame(told(textEvent('output_text.done', { text: 'Rain.', logprobs: [token] })), [])
  t.strictSame(told(textEvent('content_part.done', { part: whole })), [])
  t.strictSame(told(done(0, message('', { content: [whole] }))), [{ type: 'part-end', ...place }])
  t.strictSame(told(added(1, CALL)), [
    {
      ...{ type: 'part-start', candidate: 0, index: 1 },
      part: { type: 'call', id: 'call_1', name: 'f', arguments: '', item: 'fc_1' },
    },
  ])
  t.strictSame(told(event('function_call_arguments.delta', 1, { delta: '{"a"' })), [
    { type: 'part-delta', candidate: 0, index: 1, text: '{"a"' },
  ])
  t.strictSame(told(event('function_call_arguments.delta', 1, { delta: ':1}' })), [
    { type: 'part-delta', candidate: 0, index: 1, text: ':1}' },
  ])
  t.strictSame(told(event('function_call_arguments.done', 1, { arguments: '{"a":1}' })), [])
  t.strictSame(told(done(1, { ...CALL, arguments: '{"a":1}' })), [{ type: 'part-end', candidate: 0, index: 1 }])
  const usage = { input_tokens: 3, output_tokens: 2 }
  t.strictSame(told(completed([], { usage, service_tier: 'default' })), [
    { type: 'end', candidate: 0, end: { reason: 'tool' } },
    { type: 'finish', usage: { input: 3, output: 2 }, serviceTier: 'default' },
  ])
  t.strictSame(told(added(2, EMPTY)), [])
  t.strictSame(decoder.end(), [])
})

t.test('calls may come at the same time, and are told apart by their place', async t => {
  const second = { ...CALL, id: 'fc_2', call_id: 'call_2' }
  const parts = partsOf(
    added(0, CALL),
    added(1, second),
    event('function_call_arguments.delta', 1, { delta: '{"b"' }),
    event('function_call_arguments.delta', 0, { delta: '{}' }),
    event('function_call_arguments.delta', 1, { delta: ':2}' }),
    done(0, { ...CALL, arguments: '{}' }),
    done(1, { ...second, arguments: '{"b":2}' }),
    completed(),
  )
  t.match(parts, [
    { id: 'call_1', arguments: '{}' },
    { id: 'call_2', arguments: '{"b":2}' },
  ])
})

t.test('arguments that come in no pieces are reported once, wherever they are', async t => {
  const whole = { ...CALL, arguments: '{"a":1}' }
  const delta = (text: string): JsonObject => event('function_call_arguments.delta', 0, { delta: text })
  for (const [name, sent] of Object.entries({
    'in the announcement': [added(0, whole), done(0, whole)],
    'in the announcement alone': [added(0, whole)],
    'in the announcement, and in pieces': [added(0, whole), delta('{"a"'), delta(':1}'), done(0, whole)],
    'when they are done': [added(0, CALL), event('function_call_arguments.done', 0, { arguments: '{"a":1}' })],
    'when the item is done': [added(0, CALL), done(0, whole)],
    'in an item that was never announced': [done(0, whole)],
  }))
    t.match(partsOf(...sent, completed()), [{ arguments: '{"a":1}' }], name)
})

t.test('a call of a tool of free text', async t => {
  const custom = { type: 'custom_tool_call', id: 'ctc_1', call_id: 'call_1', name: 'sql', input: '' }
  const parts = partsOf(
    added(0, custom),
    event('custom_tool_call_input.delta', 0, { delta: 'SELECT' }),
    event('custom_tool_call_input.delta', 0, { delta: ' 1' }),
    event('custom_tool_call_input.done', 0, { input: 'SELECT 1' }),
    done(0, { ...custom, input: 'SELECT 1' }),
    completed(),
  )
  t.match(parts, [{ type: 'call', name: 'sql', arguments: 'SELECT 1', custom: true, item: 'ctc_1' }])
})

t.test('a message of several parts, in one of which the model declines', async t => {
  const got = events(
    CREATED,
    added(0, EMPTY),
    textEvent('output_text.delta', { delta: 'a' }, 0),
    textEvent('refusal.delta', { delta: 'N' }, 1),
    textEvent('refusal.delta', { delta: 'o.' }, 1),
    textEvent('refusal.done', { refusal: 'No.' }, 1),
    done(
      0,
      message('', {
        content: [
          { type: 'output_text', text: 'a' },
          { type: 'refusal', refusal: 'No.' },
        ],
      }),
    ),
    completed(),
  )
  t.match(fold(got).candidates, [
    {
      parts: [
        { type: 'text', text: 'a' },
        { type: 'refusal', text: 'No.' },
      ],
      end: { reason: 'refusal' },
    },
  ])
})

t.test('what only the end of an item says is told then', async t => {
  const annotations = [{ type: 'url_citation', url: 'https://a.example' }]
  const whole = message('', { content: [{ type: 'other' }, { type: 'output_text', text: 'Rain.', annotations }] })
  const expected = [{ type: 'text', text: 'Rain.', citations: [{ url: 'https://a.example' }] }]
  t.match(partsOf(added(0, EMPTY), done(0, whole), completed()), expected)
  t.match(partsOf(textEvent('output_text.delta', { delta: 'Rain.' }, 1), done(0, whole), completed()), expected)
  const cited = textEvent('output_text.annotation.added', { annotation: annotations[0] ?? null }, 1)
  const streamed = partsOf(textEvent('output_text.delta', { delta: 'Rain.' }, 1), cited, done(0, whole), completed())
  t.equal(streamed[0]?.type === 'text' && streamed[0].citations?.length, 1, 'and nothing twice')
})

t.test('what only the end of the answer says is told then', async t => {
  const output = [message('Rain.'), { ...CALL, arguments: '{"a":1}' }]
  const expected = [
    { type: 'text', text: 'Rain.' },
    { type: 'call', arguments: '{"a":1}' },
  ]
  t.match(partsOf(completed(output)), expected, 'of items that no one announced')
  t.match(partsOf(added(0, EMPTY), completed(output)), expected, 'of an item that was announced only')
  const said = [CREATED, added(0, EMPTY), textEvent('output_text.delta', { delta: 'Rain.' }), completed(output)]
  const got = events(...said)
  t.same(faultsOf(got), [])
  t.match(fold(got).candidates, [{ parts: expected, end: { reason: 'tool' } }], 'of a call after a text that came')
  t.equal(fold(got).candidates[0]?.parts.length, 2)
  const sent = encodeAll(chat, got, answerTo(requestOf({ stream: true }))).map(({ data }) => data)
  t.match(sent.join(), /"name":"f".*"finish_reason":"tool_calls"/s, 'to a client of another protocol')
  const moved = partsOf(...said.slice(1, 3), completed([{ ...CALL, arguments: '{}' }, message('Rain.')]))
  t.match(moved, [{ type: 'text', text: 'Rain.' }], 'an item that the end has at another place is not said twice')
  t.equal(moved.length, 1)
})

t.test('summaries of one thought are one text, with a blank line between two', async t => {
  const item = { type: 'reasoning', id: 'rs_1', summary: [] }
  const summary = (name: string, summary_index: number, members: JsonObject): JsonObject =>
    event(`reasoning_summary_${name}`, 0, { summary_index, ...members })
  const whole = {
    ...item,
    encrypted_content: 'c2Vh',
    summary: ['One.', 'Two.'].map(text => ({ type: 'summary_text', text })),
  }
  const seal = { by: 'responses', value: 'c2Vh' }
  const expected = [{ type: 'reasoning', text: 'One.\n\nTwo.', summary: true, id: 'rs_1', seal }]
  const pieces = [
    summary('part.added', 0, { part: { type: 'summary_text', text: '' } }),
    summary('text.delta', 0, { delta: 'On' }),
    summary('text.delta', 0, { delta: 'e.' }),
    summary('text.done', 0, { text: 'One.' }),
    summary('part.added', 1, { part: { type: 'summary_text', text: '' } }),
    summary('text.delta', 1, { delta: 'Two.' }),
    summary('text.done', 1, { text: 'Two.' }),
  ]
  t.same(partsOf(added(0, item), ...pieces, done(0, whole), completed()), expected)
  const wholes = pieces.filter(({ type }) => type === 'response.reasoning_summary_text.done')
  t.same(partsOf(added(0, item), ...wholes, done(0, whole), completed()), expected, 'each of them whole')
  t.same(partsOf(added(0, item), done(0, whole), completed()), expected, 'when the item is done')
})

t.test('thoughts themselves: what comes first of them and of their summary counts', async t => {
  const item = { type: 'reasoning', id: 'rs_1', summary: [] }
  const thought = (content_index: number, delta: string): JsonObject =>
    event('reasoning_text.delta', 0, { content_index, delta })
  const summary = event('reasoning_summary_text.delta', 0, { summary_index: 0, delta: 'Short.' })
  const expected = [{ type: 'reasoning', text: 'One.\n\nTwo.', id: 'rs_1' }]
  t.same(partsOf(added(0, item), thought(0, 'One.'), thought(1, 'Two.'), completed()), expected)
  t.same(partsOf(added(0, item), thought(0, 'One.'), summary, thought(1, 'Two.'), completed()), expected)
})

t.test('a thought that is hidden is its seal, as its end has it', async t => {
  const item = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'Zmlyc3Q' }
  t.same(partsOf(added(0, item), done(0, { ...item, encrypted_content: 'bGFzdA' }), completed()), [
    { type: 'reasoning', text: '', summary: true, id: 'rs_1', seal: { by: 'responses', value: 'bGFzdA' } },
  ])
})

t.test('seals of texts and calls come with their ends', async t => {
  const sealed = (value: string): string => `gw1.generate.${Buffer.from(value).toString('base64url')}`
  const whole = (at: number, item: JsonObject, value: string): JsonObject[] => [
    added(at, item),
    done(at, { ...item, encrypted_content: sealed(value) }),
  ]
  const parts = partsOf(
    ...whole(0, message('a'), 'one'),
    ...whole(1, { ...CALL, arguments: '{}' }, 'two'),
    ...[added(2, message('b')), done(2, message('b'))],
    completed(),
  )
  t.match(parts, [
    { type: 'text', text: 'a', seal: { by: 'generate', value: 'one' } },
    { type: 'call', seal: { by: 'generate', value: 'two' } },
    { type: 'text', text: 'b', seal: undefined },
  ])
})

t.test('items that this protocol alone knows come whole; their progress is passed over', async t => {
  const search = { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search', query: 'rain' } }
  const image = { type: 'image_generation_call', id: 'ig_1', status: 'completed', result: 'AAAA' }
  const parts = partsOf(
    added(0, { ...search, status: 'in_progress' }),
    event('web_search_call.in_progress', 0, {}),
    event('web_search_call.completed', 0, {}),
    done(0, search),
    added(1, { ...image, result: null }),
    event('image_generation_call.partial_image', 1, { partial_image_b64: 'BBBB', partial_image_index: 0 }),
    done(1, image),
    { type: 'response.some_event_of_tomorrow', output_index: 7 },
    completed(),
  )
  t.same(parts, [
    { type: 'hosted', of: 'responses', value: search },
    { type: 'media', kind: 'image', mime: 'image/png', source: { base64: 'AAAA' } },
  ])
})

t.test('items without an index are known by their ids', async t => {
  const call = (id: string, args: string) => ({
    ...{ type: 'function_call', id, call_id: `call_${id}`, name: 'weather' },
    arguments: args,
  })
  const message = { type: 'message', id: 'm', role: 'assistant' }
  const text = { type: 'output_text', text: 'ab', annotations: [] }
  const parts = partsOf(
    { type: 'response.output_item.added', item: { ...message, content: [] } },
    { type: 'response.content_part.added', item_id: 'm', part: { type: 'output_text', text: '' } },
    { type: 'response.output_text.delta', item_id: 'm', delta: 'a' },
    { type: 'response.output_text.delta', item_id: 'm', delta: 'b' },
    { type: 'response.output_text.done', item_id: 'm', text: 'ab' },
    { type: 'response.output_item.added', item: call('one', '') },
    { type: 'response.function_call_arguments.delta', item_id: 'one', delta: '{"a":1}' },
    { type: 'response.output_item.added', item: call('two', '') },
    { type: 'response.function_call_arguments.delta', item_id: 'two', delta: '{"a":2}' },
    // All ends come at the end.
    { type: 'response.output_item.done', item: { ...message, content: [text] } },
    { type: 'response.output_item.done', item: call('one', '{"a":1}') },
    { type: 'response.output_item.done', item: call('two', '{"a":2}') },
    completed([{ ...message, content: [text] }, call('one', '{"a":1}'), call('two', '{"a":2}')]),
  )
  t.match(parts, [
    { type: 'text', text: 'ab' },
    { type: 'call', arguments: '{"a":1}' },
    { type: 'call', arguments: '{"a":2}' },
  ])
  t.equal(parts.length, 3)
})

t.test('an answer that was cut off by a limit or a filter', async t => {
  const end = (reason: string): unknown =>
    events(CREATED, {
      ...{ type: 'response.incomplete' },
      response: response([], { status: 'incomplete', incomplete_details: { reason } }),
    }).find(({ type }) => type === 'end')
  t.match(end('max_output_tokens'), { end: { reason: 'length' } })
  t.match(end('content_filter'), { end: { reason: 'filter' } })
})

t.test('errors: nested, flat, and of a failed response', async t => {
  const inner = { type: 'server_error', code: 'boom', message: 'Boom.', param: null }
  const failed = response([], { status: 'failed', error: { code: 'boom', message: 'Boom.' } })
  for (const [name, document] of Object.entries({
    nested: { type: 'error', sequence_number: 2, error: inner },
    flat: { ...inner, type: 'error', sequence_number: 2 },
    both: { type: 'error', error: inner, code: 'boom', message: 'Boom.', param: null },
    failed: { type: 'response.failed', response: failed },
    'without a type': { error: inner },
  })) {
    const terminals = events(CREATED, document, completed()).filter(isTerminal)
    t.match(
      terminals,
      [{ error: { code: 'upstream_failed', message: 'Boom.', details: { familyCode: 'boom' } } }],
      name,
    )
    t.equal(terminals.length, 1)
  }
  const slow = { type: 'error', error: { code: 'rate_limit_exceeded', message: 'Slow.' } }
  t.match(events(CREATED, slow).at(-1), { error: { code: 'rate_limited' } })
})

t.test('a transfer that ends before the answer does', async t => {
  for (const sent of [[], [CREATED], [CREATED, added(0, EMPTY), done(0, message('a'))]])
    t.match(events(...sent).at(-1), { type: 'error', error: { code: 'upstream_truncated' } })
})

t.test('documents that cannot be of this protocol are one error', async t => {
  const wrong: readonly (readonly JsonObject[])[] = [
    [{ type: 1 }],
    [{}],
    [added(-1, EMPTY)],
    [added(1e9, EMPTY)],
    [{ type: 'response.output_item.added', output_index: 0, item: 'message' }],
    [added(0, { ...CALL, name: '' })],
    [event('function_call_arguments.delta', 0, { delta: '{' })],
    [added(0, CALL), event('output_text.delta', 0, { delta: 'a' })],
    [added(0, CALL), event('reasoning_summary_text.delta', 0, { delta: 'a' })],
    [added(0, EMPTY), done(0, message('a')), added(1, EMPTY), event('output_text.delta', 0, { delta: 'a' })],
    [added(0, { type: 'web_search_call', a: deep(600) }), done(0, { type: 'web_search_call', a: deep(600) })],
  ]
  for (const sent of wrong) {
    const got = events(CREATED, ...sent, completed())
    t.match(got.filter(isTerminal), [{ type: 'error', error: { code: 'bad_upstream_response' } }])
    t.same(faultsOf(got), [])
  }
})

t.test('late words on an item that is over change nothing', async t => {
  const parts = partsOf(
    added(0, EMPTY),
    textEvent('content_part.added', { part: { type: 'output_text', text: '' } }),
    done(0, message('', { content: [] })),
    added(1, CALL),
    textEvent('output_text.done', { text: 'late' }),
    completed(),
  )
  t.match(parts, [{ type: 'text', text: '' }, { type: 'call' }])
})

t.test('a mark of the end of another protocol is passed over', async t => {
  const decoder = responses.client.decodeStream()
  const got = [CREATED, completed()].flatMap(document => [...decoder.push(frameOf(document))])
  t.same([...got, ...decoder.push({ data: '[DONE]' }), ...decoder.end()].filter(isTerminal).length, 1)
})

function deep(levels: number): Json {
  let value: Json = 0
  for (let i = 0; i < levels; i++) value = [value]
  return value
}
