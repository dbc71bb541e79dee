import t from 'tap'
import { InOrder } from '../../../src/codecs/in-order.js'
import { GatewayError } from '../../../src/core/errors.js'
import type { JsonObject } from '../../../src/core/json.js'
import type { Part, TextEvent } from '../../../src/core/text.js'
import { openApi, openApiFolder } from '../../helpers/openapi.js'
import { call, documents, text } from './support.js'

const START: TextEvent = { type: 'start', id: 'a', model: 'up', usage: { input: 9, cached: 4 } }
const END: TextEvent = { type: 'end', candidate: 0, end: { reason: 'stop' } }
const FINISH: TextEvent = { type: 'finish', usage: { input: 9, cached: 4, output: 7, reasoning: 2 } }

function part(index: number, what: Part, pieces: readonly string[] = [], more: object = {}): TextEvent[] {
  const place = { candidate: 0, index }
  return [
    { type: 'part-start', ...place, part: what },
    ...pieces.map(words => ({ type: 'part-delta' as const, ...place, text: words })),
    { type: 'part-end', ...place, ...more },
  ]
}

/** Documents of a whole answer of these parts, without those around them. */
function blocks(...sent: TextEvent[]): JsonObject[] {
  const { documents: all } = documents(START, ...sent, END, FINISH)
  return all.slice(1, -2).filter(({ type }) => type !== 'ping')
}

t.test('a stream of text, from the first event to the last', async t => {
  const { documents: all, frames } = documents(START, ...part(0, text(''), ['Ra', 'in.']), END, FINISH)
  t.match(all, [
    {
      type: 'message_start',
      message: {
        id: 'a',
        model: 'up',
        content: [],
        stop_reason: null,
        usage: { input_tokens: 5, cache_read_input_tokens: 4 },
      },
    },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'ping' },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Ra' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'in.' } },
    { type: 'content_block_stop', index: 0 },
    {
      type: 'message_delta',
      delta: { stop_reason: 'end_turn', stop_sequence: null },
      usage: {
        input_tokens: 5,
        cache_read_input_tokens: 4,
        output_tokens: 7,
        output_tokens_details: { thinking_tokens: 2 },
      },
    },
    { type: 'message_stop' },
  ])
  t.equal(all.length, 8)
  t.strictSame(
    frames.map(({ event }) => event),
    all.map(({ type }) => type),
    'each event has its name',
  )
})

t.test('every event is one of the protocol', { skip: openApiFolder() === undefined }, async t => {
  const seal = { by: 'responses', value: 'x' }
  const sent = [
    ...part(0, { type: 'reasoning', text: '' }, ['I look.'], { seal }),
    ...part(1, { type: 'reasoning', text: '', redacted: true }, [], { seal }),
    ...part(2, text(''), ['a']),
    ...part(3, call('c1', 'f', ''), ['{}'], { seal }),
  ]
  const { documents: all } = documents(START, ...sent, END, FINISH)
  for (const document of all) t.strictSame(openApi('messages.event')(document), [], JSON.stringify(document))
})

t.test('the first delta of a call is empty', async t => {
  t.match(blocks(...part(0, call('c1', 'f', ''), ['{"a":1}'])), [
    { type: 'content_block_start', content_block: { type: 'tool_use', id: 'c1', name: 'f', input: {} } },
    { delta: { type: 'input_json_delta', partial_json: '' } },
    { delta: { type: 'input_json_delta', partial_json: '{"a":1}' } },
    { type: 'content_block_stop' },
  ])
})

t.test('thoughts are signed before they end, hidden ones come whole', async t => {
  const seal = { by: 'messages', value: 'c2ln' }
  t.match(
    blocks(
      ...part(0, { type: 'reasoning', text: '' }, ['I look.'], { seal }),
      ...part(1, { type: 'reasoning', text: '', redacted: true }, [], { seal }),
      ...part(2, { type: 'reasoning', text: '' }, ['Unsigned.']),
    ),
    [
      { index: 0, content_block: { type: 'thinking', thinking: '', signature: '' } },
      { index: 0, delta: { type: 'thinking_delta', thinking: 'I look.' } },
      { index: 0, delta: { type: 'signature_delta', signature: 'c2ln' } },
      { index: 0, type: 'content_block_stop' },
      { index: 1, content_block: { type: 'redacted_thinking', data: 'c2ln' } },
      { index: 1, type: 'content_block_stop' },
      { index: 2, content_block: { type: 'thinking' } },
      { index: 2, delta: { thinking: 'Unsigned.' } },
      { index: 2, type: 'content_block_stop' },
    ],
  )
})

t.test('calls that come at the same time are one after the other', async t => {
  const [a, b] = [part(0, call('c1', 'f', ''), ['{"a"', ':1}']), part(1, call('c2', 'f', ''), ['{"b"', ':2}'])] as const
  const mixed = [a[0]!, b[0]!, b[1]!, a[1]!, b[2]!, b[3]!, a[2]!, a[3]!]
  const sent = blocks(...mixed)
  t.strictSame(
    sent.map(({ index }) => index),
    [0, 0, 0, 0, 0, 1, 1, 1, 1, 1],
  )
  t.strictSame(sent, blocks(...a, ...b))
})

t.test('what waits for a part that does not end has a bound, and takes time that grows with it', async t => {
  const [first] = part(0, text(''), ['a'])
  const piece = 'b'.repeat(1024 * 1024)
  const waits = (pieces: number): JsonObject | undefined =>
    documents(START, first!, ...part(1, text(''), Array<string>(pieces).fill(piece)).slice(0, -1)).documents.at(-1)
  t.match(waits(16), { type: 'message_start' })
  t.match(waits(17), { type: 'error', error: { type: 'api_error', message: /waits for an earlier part/ } })
  const order = new InOrder()
  for (const round of [0, 50_001]) {
    for (let i = 1; i <= 50_000; i++) for (const event of part(round + i, text(''))) order.push(event)
    t.equal(order.push({ type: 'part-end', candidate: 0, index: round }).length, 100_001)
  }
})

t.test('an empty text is not a block', async t => {
  t.strictSame(
    blocks(...part(0, text('')), ...part(1, text(''), ['a'])).map(({ index }) => index),
    [0, 0, 0],
  )
})

t.test('the reason of the end waits for the usage, and goes by what was said', async t => {
  const reason = (...sent: TextEvent[]): unknown => documents(START, ...sent, END, FINISH).documents.at(-2)
  t.match(reason(...part(0, call('c1', 'f', ''))), { delta: { stop_reason: 'tool_use' } })
  t.match(reason(...part(0, { type: 'refusal', text: '' }, ['No.'])), { delta: { stop_reason: 'refusal' } })
  t.match(documents(START, END).documents.length, 1)
})

t.test('an error is the last event, and no clean end', async t => {
  const error = new GatewayError('upstream_failed', 'Overloaded', { status: 529 })
  const { documents: all, frames } = documents(
    START,
    ...part(0, text(''), ['a']).slice(0, 2),
    { type: 'error', error },
    END,
    FINISH,
  )
  t.strictSame(all.at(-1), { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } })
  t.equal(frames.at(-1)?.event, 'error')
})

t.test('pings of the upstream pass', async t => {
  t.equal(documents(START, { type: 'ping' }, { type: 'ping' }).documents.length, 3)
})

t.test('other candidates have no place', async t => {
  const other = part(0, text(''), ['b']).map(event => ({ ...event, candidate: 1 }) as TextEvent)
  const { documents: all, lost } = documents(START, ...part(0, text(''), ['a']), ...other, END, FINISH)
  t.equal(all.filter(({ type }) => type === 'content_block_start').length, 1)
  t.match(lost[0], /^candidates/)
})

t.test('what no block can hold is named', async t => {
  const image: Part = { type: 'media', kind: 'image', source: { base64: 'iVBO' } }
  const { lost } = documents(
    START,
    ...part(0, image),
    ...part(1, { type: 'reasoning', text: '', redacted: true }),
    END,
    FINISH,
  )
  t.match(lost, [/^image/, /^reasoning/])
})

t.test('citations come as deltas', async t => {
  const place = { candidate: 0, index: 0 }
  const [start, words, end] = part(0, text(''), ['Rain.']) as [TextEvent, TextEvent, TextEvent]
  const sent = blocks(start, words, { type: 'part-citation', ...place, citation: { url: 'https://example.com/' } }, end)
  t.match(sent[2], {
    delta: { type: 'citations_delta', citation: { type: 'web_search_result_location', url: 'https://example.com/' } },
  })
})

t.test('an answer without a beginning gets one', async t => {
  t.match(documents(FINISH).documents, [{ type: 'message_start' }, { type: 'message_delta' }, { type: 'message_stop' }])
})
