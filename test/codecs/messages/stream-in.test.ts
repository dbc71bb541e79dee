import t from 'tap'
import { fold } from '../../../src/codecs/fold.js'
import { messages } from '../../../src/codecs/messages/index.js'
import type { JsonObject } from '../../../src/core/json.js'
import type { TextEvent } from '../../../src/core/text.js'
import { delta, ended, events, frameOf, START, STOP, started, stopped } from './support.js'

const TEXT = started(0, { type: 'text', text: '' })

function message(...documents: JsonObject[]): TextEvent[] {
  return events(START, ...documents, ended('end_turn'), STOP)
}

t.test('each event is reported at once', async t => {
  const decoder = messages.client.decodeStream()
  const told = (document: JsonObject): readonly TextEvent[] => decoder.push(frameOf(document))
  t.match(told(START), [{ type: 'start', id: 'msg_1', model: 'up', usage: { input: 3, output: 1 } }])
  t.strictSame(told(TEXT), [{ type: 'part-start', candidate: 0, index: 0, part: { type: 'text', text: '' } }])
  t.strictSame(told({ type: 'ping' }), [{ type: 'ping' }])
  t.strictSame(told(delta(0, { type: 'text_delta', text: 'Rain' })), [
    { type: 'part-delta', candidate: 0, index: 0, text: 'Rain' },
  ])
  t.strictSame(told(stopped(0)), [{ type: 'part-end', candidate: 0, index: 0 }])
  t.strictSame(told(ended('end_turn', { output_tokens: 5 })), [{ type: 'end', candidate: 0, end: { reason: 'stop' } }])
  t.strictSame(told(STOP), [{ type: 'finish', usage: { input: 3, output: 5 } }])
  t.strictSame(told(TEXT), [])
  t.strictSame(decoder.end(), [])
})

t.test('thoughts end with their signature', async t => {
  const sent = message(
    started(0, { type: 'thinking', thinking: '', signature: '' }),
    delta(0, { type: 'thinking_delta', thinking: 'I look.' }),
    delta(0, { type: 'signature_delta', signature: 'c2ln' }),
    stopped(0),
    started(1, { type: 'redacted_thinking', data: 'cmVk' }),
    stopped(1),
  )
  t.strictSame(fold(sent).candidates[0]?.parts, [
    { type: 'reasoning', text: 'I look.', seal: { by: 'messages', value: 'c2ln' } },
    { type: 'reasoning', text: '', redacted: true, seal: { by: 'messages', value: 'cmVk' } },
  ])
})

t.test('a call grows by its JSON', async t => {
  const sent = message(
    started(0, { type: 'tool_use', id: 'toolu_1', name: 'f', input: {} }),
    delta(0, { type: 'input_json_delta', partial_json: '' }),
    delta(0, { type: 'input_json_delta', partial_json: '{"a"' }),
    delta(0, { type: 'input_json_delta', partial_json: ':1}' }),
    stopped(0),
  )
  t.strictSame(fold(sent).candidates[0]?.parts, [{ type: 'call', id: 'toolu_1', name: 'f', arguments: '{"a":1}' }])
})

t.test('a call without JSON has the input that it began with', async t => {
  const argumentsOf = (input: JsonObject): unknown =>
    fold(message(started(0, { type: 'tool_use', id: 't', name: 'f', input }), stopped(0))).candidates[0]?.parts[0]
  t.match(argumentsOf({}), { arguments: '{}' })
  t.match(argumentsOf({ a: 1 }), { arguments: '{"a":1}' })
})

t.test('blocks that only this protocol knows come whole', async t => {
  const sent = message(
    started(0, { type: 'server_tool_use', id: 's1', name: 'web_search', input: {} }),
    delta(0, { type: 'input_json_delta', partial_json: '{"query":' }),
    delta(0, { type: 'input_json_delta', partial_json: '"rain"}' }),
    stopped(0),
    started(1, { type: 'compaction', content: null }),
    delta(1, { type: 'compaction_delta', content: 'All before.', encrypted_content: 'x' }),
    stopped(1),
  )
  t.strictSame(fold(sent).candidates[0]?.parts, [
    {
      type: 'hosted',
      of: 'messages',
      value: { type: 'server_tool_use', id: 's1', name: 'web_search', input: { query: 'rain' } },
    },
    { type: 'hosted', of: 'messages', value: { type: 'compaction', content: 'All before.', encrypted_content: 'x' } },
  ])
})

t.test('a call of a tool of free text comes whole, as its text', async t => {
  const sent = message(
    started(0, { type: 'tool_use', id: 't', name: 'gw1c_sql', input: {} }),
    delta(0, { type: 'input_json_delta', partial_json: '{"input":"SELECT' }),
    delta(0, { type: 'input_json_delta', partial_json: ' 1"}' }),
    stopped(0),
  )
  t.strictSame(fold(sent).candidates[0]?.parts, [
    { type: 'call', id: 't', name: 'sql', arguments: 'SELECT 1', custom: true },
  ])
})

t.test('citations come while the text grows', async t => {
  const citation = {
    type: 'web_search_result_location',
    cited_text: 'Rain',
    encrypted_index: '',
    title: 'W',
    url: 'https://example.com/',
  }
  const sent = message(
    TEXT,
    delta(0, { type: 'citations_delta', citation }),
    delta(0, { type: 'text_delta', text: 'a' }),
    stopped(0),
  )
  t.match(fold(sent).candidates[0]?.parts, [{ text: 'a', citations: [{ url: 'https://example.com/' }] }])
})

t.test('counts are cumulative; those that are not told stay', async t => {
  const first = { input_tokens: 3, cache_read_input_tokens: 10, output_tokens: 1, service_tier: 'standard' }
  const start = { type: 'message_start', message: { id: 'm', usage: first } }
  const usage = { input_tokens: null, output_tokens: 5, output_tokens_details: { thinking_tokens: 2 } }
  t.match(events(start, ended('end_turn', usage), STOP).at(-1), {
    type: 'finish',
    usage: { input: 13, cached: 10, output: 5, reasoning: 2 },
    serviceTier: 'default',
  })
})

t.test('unknown events, deltas and members are passed over', async t => {
  const sent = message(
    { type: 'brand_new', data: 1 },
    TEXT,
    delta(0, { type: 'brand_new_delta', text: 'x' }),
    { ...delta(0, { type: 'text_delta', text: 'Rain.' }), padding: '   ' },
    stopped(0),
    stopped(7),
  )
  t.strictSame(fold(sent).candidates[0]?.parts, [{ type: 'text', text: 'Rain.' }])
})

t.test('what an upstream leaves out of the frame around text', async t => {
  const bare = fold(events(delta(0, { type: 'text_delta', text: 'Rain.' }), ended('end_turn'), STOP))
  t.strictSame(bare.candidates, [{ parts: [{ type: 'text', text: 'Rain.' }], end: { reason: 'stop' } }])
  const unindexed = [
    { type: 'content_block_start', content_block: { type: 'text', text: 'Ra' } },
    { type: 'content_block_delta', delta: { type: 'text_delta', text: 'in.' } },
  ]
  t.match(fold(message(...unindexed)).candidates[0]?.parts, [{ text: 'Rain.' }])
})

t.test('a beginning that is reported twice is one', async t => {
  const sent = events(
    START,
    START,
    TEXT,
    delta(0, { type: 'text_delta', text: 'a' }),
    START,
    stopped(0),
    ended('end_turn'),
    STOP,
  )
  t.equal(sent.filter(({ type }) => type === 'start').length, 1)
  t.equal(sent.at(-1)?.type, 'finish')
})

t.test('another answer in the middle of one is an error', async t => {
  const other = { type: 'message_start', message: { id: 'msg_2' } }
  t.match(events(START, TEXT, other).at(-1), { type: 'error', error: { code: 'bad_upstream_response' } })
})

t.test('an error of the upstream is the last event, by its type', async t => {
  const error = (type: string): unknown =>
    events(START, TEXT, { type: 'error', error: { type, message: 'Why.' } }, STOP).at(-1)
  t.match(error('overloaded_error'), {
    type: 'error',
    error: { code: 'upstream_failed', status: 529, message: 'Why.' },
  })
  t.match(error('rate_limit_error'), { error: { code: 'rate_limited', status: 429 } })
  t.match(error('brand_new'), { error: { code: 'upstream_failed', status: 502 } })
  t.match(error('authentication_error'), { error: { code: 'upstream_auth', status: 502, message: /credential/ } })
})

t.test('a stream without its last event broke off', async t => {
  const all = [START, TEXT, delta(0, { type: 'text_delta', text: 'a' }), stopped(0), ended('end_turn')]
  for (let count = 0; count <= all.length; count++) {
    t.match(events(...all.slice(0, count)).at(-1), { type: 'error', error: { code: 'upstream_truncated' } }, `${count}`)
  }
})

t.test('what is malformed is an error', async t => {
  const cases: readonly JsonObject[] = [
    delta(3, { type: 'input_json_delta', partial_json: '{' }),
    delta(0, { type: 'thinking_delta', thinking: 'x' }),
    delta(0, { type: 'text_delta', text: 1 }),
    { type: 'content_block_start', index: 1 },
    started(-1, { type: 'text' }),
    started(1.5, { type: 'text' }),
    { type: 'content_block_delta', index: 0 },
  ]
  for (const one of cases) {
    t.match(
      events(START, TEXT, one).at(-1),
      { type: 'error', error: { code: 'bad_upstream_response' } },
      JSON.stringify(one),
    )
  }
})

t.test('any index is a block, and parts are numbered as they start', async t => {
  const sent = message(
    started(76, { type: 'text', text: '' }),
    started(3, { type: 'tool_use', id: 't', name: 'f', input: {} }),
    delta(76, { type: 'text_delta', text: 'a' }),
    delta(3, { type: 'input_json_delta', partial_json: '{}' }),
  )
  t.match(fold(sent).candidates[0]?.parts, [{ text: 'a' }, { arguments: '{}' }])
})

t.test('blocks that never end are bounded', async t => {
  const open = Array.from({ length: 1002 }, (_, index) => started(index, { type: 'text', text: '' }))
  t.match(events(START, ...open).at(-1), { type: 'error', error: { code: 'bad_upstream_response' } })
})

t.test('names of members do no harm', async t => {
  const block = JSON.parse('{"type":"x","__proto__":{"polluted":1}}') as JsonObject
  const value = JSON.parse('{"type":"x_delta","__proto__":{"polluted":2},"constructor":3}') as JsonObject
  const sent = message(started(0, block), delta(0, value), stopped(0))
  t.equal(({} as { polluted?: number }).polluted, undefined)
  t.equal(sent.at(-1)?.type, 'finish')
})
