import t from 'tap'
import { chat } from '../../../src/codecs/chat/index.js'
import { fold } from '../../../src/codecs/fold.js'
import type { Frame } from '../../../src/core/codec.js'
import type { Json, JsonObject } from '../../../src/core/json.js'
import type { TextEvent, TextResult } from '../../../src/core/text.js'
import { decodeAll, faultsOf } from '../support.js'

const HEAD = { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1_700_000_000, model: 'upstream-model' }
const USAGE = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 }
const DONE: Frame = { data: '[DONE]' }

const frame = (chunk: Json): Frame => ({ data: JSON.stringify(chunk) })

function delta(delta: Json, finish_reason: string | null = null, more: JsonObject = {}): Frame {
  return frame({ ...HEAD, choices: [{ index: 0, delta, finish_reason }], ...more })
}

/** A stream with these deltas, which ends as it should. */
function streamOf(deltas: readonly Json[], reason = 'stop', more: JsonObject = {}): Frame[] {
  return [delta({ role: 'assistant', content: '' }), ...deltas.map(one => delta(one)), delta({}, reason, more), DONE]
}

function decode(frames: readonly Frame[]): TextEvent[] {
  const events = decodeAll(chat, frames)
  const faults = faultsOf(events)
  if (faults.length > 0) throw new Error(`${faults}: ${JSON.stringify(events)}`)
  return events
}

function partsOf(deltas: readonly Json[], reason = 'stop'): TextResult['candidates'][number]['parts'] {
  return fold(decode(streamOf(deltas, reason))).candidates[0]!.parts
}

const piece = (index: number | undefined, rest: JsonObject): JsonObject => ({
  tool_calls: [{ ...(index !== undefined && { index }), ...rest }],
})
const named = (name: string, args = ''): JsonObject => ({ type: 'function', function: { name, arguments: args } })
const args = (args: string): JsonObject => ({ function: { arguments: args } })

t.test('each piece of text is reported when it comes', async t => {
  const decoder = chat.client.decodeStream()
  const [role, one, two, end, done] = streamOf([{ content: 'Hel' }, { content: 'lo.' }]) as [Frame, ...Frame[]]
  t.match(decoder.push(role), [{ type: 'start', id: 'chatcmpl-1', model: 'upstream-model', created: 1_700_000_000 }])
  t.match(decoder.push(one!), [
    { type: 'part-start', part: { type: 'text' } },
    { type: 'part-delta', text: 'Hel' },
  ])
  t.match(decoder.push(two!), [{ type: 'part-delta', index: 0, text: 'lo.' }])
  t.match(decoder.push(end!), [{ type: 'part-end' }, { type: 'end', end: { reason: 'stop' } }])
  t.match(decoder.push(done!), [{ type: 'finish' }])
  t.same(decoder.end(), [])
})

t.test('usage, in each place where servers put it', async t => {
  const usage = { input: 3, output: 2 }
  const apart = frame({ ...HEAD, choices: [], usage: USAGE })
  t.match(fold(decode([...streamOf([{ content: 'a' }]).slice(0, -1), apart, DONE])).usage, usage)
  t.match(fold(decode(streamOf([{ content: 'a' }], 'stop', { usage: USAGE }))).usage, usage, 'with the finish')
  const early = { ...USAGE, completion_tokens: 1 }
  const each = [delta({ content: 'a' }, null, { usage: early }), delta({}, 'stop', { usage: USAGE }), DONE]
  t.match(fold(decode(each)).usage, usage, 'the last one counts')
  const own = streamOf([{ content: 'a' }], 'stop', { x_server: { id: 'req_1', usage: USAGE } })
  t.match(fold(decode(own)).usage, usage, 'in an object of its own')
})

t.test('a first chunk without choices is not an answer, and no usage', async t => {
  const first = frame({ id: '', object: '', model: '', created: 0, choices: [], prompt_filter_results: [] })
  const events = decode([first, ...streamOf([{ content: 'a' }])])
  t.match(events[0], { type: 'start', id: 'chatcmpl-1' })
})

t.test('several choices, one among the other', async t => {
  const choice = (index: number, delta: Json, finish_reason: string | null = null): Frame =>
    frame({ ...HEAD, choices: [{ index, delta, finish_reason }] })
  const frames = [
    choice(1, { content: 'b' }),
    choice(0, { content: 'a' }),
    choice(1, { content: 'B' }),
    choice(0, {}, 'stop'),
    choice(1, {}, 'length'),
    DONE,
  ]
  t.match(fold(decode(frames)).candidates, [
    { parts: [{ text: 'a' }], end: { reason: 'stop' } },
    { parts: [{ text: 'bB' }], end: { reason: 'length' } },
  ])
})

t.test('calls in each form that servers send them in', async t => {
  const CALLS = [
    { type: 'call', id: 'c1', name: 'f', arguments: '{"a":1}' },
    { type: 'call', id: 'c2', name: 'g', arguments: '{"b":2}' },
  ]
  const forms: Readonly<Record<string, readonly Json[]>> = {
    'piece by piece': [
      piece(0, { id: 'c1', ...named('f') }),
      piece(0, args('{"a":')),
      piece(0, args('1}')),
      piece(1, { id: 'c2', ...named('g') }),
      piece(1, args('{"b":2}')),
    ],
    'at the same time': [
      piece(0, { id: 'c1', ...named('f') }),
      piece(1, { id: 'c2', ...named('g') }),
      piece(1, args('{"b":')),
      piece(0, args('{"a":1}')),
      piece(1, args('2}')),
    ],
    'whole, one a chunk': [
      piece(0, { id: 'c1', ...named('f', '{"a":1}') }),
      piece(1, { id: 'c2', ...named('g', '{"b":2}') }),
    ],
    'all in one chunk': [
      {
        tool_calls: [
          { index: 0, id: 'c1', ...named('f', '{"a":1}') },
          { index: 1, id: 'c2', ...named('g', '{"b":2}') },
        ],
      },
    ],
    'without an index': [
      piece(undefined, { id: 'c1', ...named('f') }),
      piece(undefined, args('{"a":1}')),
      piece(undefined, { id: 'c2', ...named('g') }),
      piece(undefined, { id: 'c2', ...args('{"b":2}') }),
    ],
    'with index 0 for all': [
      piece(0, { id: 'c1', ...named('f', '{"a":1}') }),
      piece(0, { id: 'c2', ...named('g', '{"b":2}') }),
    ],
    'with the id and the name in each piece': [
      piece(0, { id: 'c1', ...named('f', '{"a":') }),
      piece(0, { id: 'c1', ...named('f', '1}') }),
      piece(1, { id: 'c2', ...named('g', '{"b":2}') }),
    ],
    'with an empty id and an empty name in later pieces': [
      piece(0, { id: 'c1', ...named('f') }),
      piece(0, { id: '', ...named('', '{"a":1}') }),
      piece(7, { id: 'c2', ...named('g') }),
      piece(7, { id: '', ...named('', '{"b":2}') }),
    ],
    'with arguments as an object': [
      piece(0, { id: 'c1', type: 'function', function: { name: 'f', arguments: { a: 1 } } }),
      piece(76, { id: 'c2', type: 'function', function: { name: 'g', arguments: { b: 2 } } }),
    ],
  }
  for (const [form, deltas] of Object.entries(forms)) {
    t.same(partsOf(deltas, 'tool_calls'), CALLS, form)
    t.match(fold(decode(streamOf(deltas, 'stop'))).candidates, [{ end: { reason: 'tool' } }], `${form}: why it ended`)
  }
})

t.test('a call has ended when the next one begins and its arguments are whole', async t => {
  const whole = decode(
    streamOf([piece(0, { id: 'c1', ...named('f', '{"a":1}') }), piece(1, { id: 'c2', ...named('g') })], 'tool_calls'),
  )
  const types = (events: readonly TextEvent[]): string[] =>
    events.flatMap(event => ('index' in event && event.type !== 'part-delta' ? [`${event.type} ${event.index}`] : []))
  t.same(types(whole), ['part-start 0', 'part-end 0', 'part-start 1', 'part-end 1'])
  const open = decode(
    streamOf([
      piece(0, { id: 'c1', ...named('f', '{"a"') }),
      piece(1, { id: 'c2', ...named('g', '{}') }),
      piece(0, args(':1}')),
    ]),
  )
  t.same(types(open), ['part-start 0', 'part-start 1', 'part-end 0', 'part-end 1'])
})

t.test('calls without an id get one, and several with index 0 are told apart by their names', async t => {
  const parts = partsOf(
    [piece(0, { id: '', ...named('f', '{}') }), piece(0, { id: '', ...named('f', '{}') })],
    'tool_calls',
  )
  t.match(parts, [{ id: /^gwcall_chatcmpl1_0_0$/ }, { id: /^gwcall_chatcmpl1_0_1$/ }])
})

t.test('the older function_call, and calls with free text', async t => {
  t.match(
    partsOf([{ function_call: { name: 'f', arguments: '' } }, { function_call: { arguments: '{}' } }], 'function_call'),
    [{ type: 'call', name: 'f', arguments: '{}' }],
  )
  t.match(
    partsOf([piece(0, { id: 'c', type: 'custom', custom: { name: 'sh' } }), piece(0, { custom: { input: 'ls' } })]),
    [{ type: 'call', name: 'sh', arguments: 'ls', custom: true }],
  )
})

t.test('thoughts, then text, then thoughts again', async t => {
  t.match(partsOf([{ reasoning_content: 'H' }, { reasoning_content: 'm.' }, { content: 'a' }, { reasoning: 'x' }]), [
    { type: 'reasoning', text: 'Hm.', seal: { value: 'reasoning_content' } },
    { type: 'text', text: 'a' },
    { type: 'reasoning', text: 'x', seal: { value: 'reasoning' } },
  ])
  const think = (text: string): Json => ({ content: [{ type: 'thinking', thinking: [{ type: 'text', text }] }] })
  t.match(partsOf([think('H'), think('m.'), { content: [{ type: 'text', text: 'a' }] }]), [
    { type: 'reasoning', text: 'Hm.', seal: { value: 'thinking' } },
    { type: 'text', text: 'a' },
  ])
})

t.test('reasoning_details are reported once, and sealed at their end', async t => {
  const detail = (rest: JsonObject, reasoning?: string): Json => ({
    content: '',
    ...(reasoning !== undefined && { reasoning }),
    reasoning_details: [{ type: 'reasoning.text', format: 'f', index: 0, ...rest }],
  })
  const parts = partsOf([
    detail({ text: '', signature: '' }),
    detail({ text: 'H' }, 'H'),
    detail({ text: 'm.' }, 'm.'),
    detail({ signature: 's' }),
    { reasoning_details: [{ type: 'reasoning.encrypted', data: 'd', index: 1 }] },
    { content: 'a' },
  ])
  t.match(parts, [
    { type: 'reasoning', text: 'Hm.', seal: { by: 'chat', value: /"signature":"s"/ } },
    { type: 'reasoning', text: '', seal: { by: 'chat', value: /"data":"d"/ } },
    { type: 'text', text: 'a' },
  ])
  t.equal(parts.length, 3)
})

t.test('many pieces of one thought take time that grows with their number', async t => {
  const piece = (i: number): Json => ({ reasoning_details: [{ index: 0, text: 'a', [`a${i}`]: 1 }] })
  const [part] = partsOf(Array.from({ length: 60_000 }, (_, i) => piece(i)))
  t.match(part, { type: 'reasoning', seal: { by: 'chat', value: /^\{"index":0,"a0":1,.*,"a59999":1\}$/ } })
  t.equal(part?.type === 'reasoning' && part.text.length, 60_000)
})

t.test('citations come onto the text, whether they come before it, with it or behind', async t => {
  const annotations = [{ type: 'url_citation', url_citation: { url: 'https://a.example' } }]
  const cited = [{ type: 'text', text: 'ab', citations: [{ url: 'https://a.example' }] }]
  t.match(partsOf([{ annotations }, { content: 'a' }, { content: 'b' }]), cited)
  t.match(partsOf([{ content: 'a', annotations }, { content: 'b' }]), cited)
  t.match(partsOf([{ content: 'ab' }, { content: '', annotations }]), cited)
  const sources = { citations: ['https://a.example'] }
  const frames = [delta({ content: 'ab' }, null, sources), delta({}, 'stop', sources), DONE]
  t.match(fold(decode(frames)).candidates[0]?.parts, cited, 'sources beside the choices')
})

t.test('log probabilities, refusals, pictures and speech', async t => {
  const content = [{ token: 'a', logprob: -1, bytes: [97], top_logprobs: [{ token: 'b', logprob: -2, bytes: null }] }]
  const choice = { index: 0, delta: { content: 'a' }, logprobs: { content }, finish_reason: null }
  t.match(fold(decode([frame({ ...HEAD, choices: [choice] }), delta({}, 'stop'), DONE])).candidates[0]?.parts, [
    { text: 'a', logprobs: [{ token: 'a', logprob: -1, bytes: [97], top: [{ token: 'b', logprob: -2 }] }] },
  ])
  t.match(fold(decode(streamOf([{ refusal: 'N' }, { refusal: 'o.' }]))).candidates, [
    { parts: [{ type: 'refusal', text: 'No.' }], end: { reason: 'refusal' } },
  ])
  const url = 'data:image/png;base64,AAAA'
  t.match(partsOf([{ content: 'a' }, { images: [{ type: 'image_url', image_url: { url } }] }, { content: 'b' }]), [
    { text: 'a' },
    { type: 'media', mime: 'image/png' },
    { text: 'b' },
  ])
  const spoken = [
    { audio: { id: 'audio_1', transcript: 'Hi' } },
    { audio: { data: 'AQ==' } },
    { audio: { data: 'Ag==', transcript: '.' } },
  ]
  t.match(partsOf(spoken), [
    { type: 'media', kind: 'audio', source: { base64: 'AQI=' }, transcript: 'Hi.', seal: { value: 'audio_1' } },
  ])
})

t.test('what an upstream wants back with a call, a text or the message', async t => {
  const extra_content = { theirs: { signature: 's' } }
  const seal = { by: 'chat', value: JSON.stringify(extra_content) }
  t.match(partsOf([piece(0, { id: 'c', ...named('f', '{}'), extra_content })]), [{ type: 'call', seal }])
  t.match(partsOf([{ content: 'a' }, { content: '', extra_content }]), [{ type: 'text', text: 'a', seal }])
  const call = piece(0, { id: 'c', ...named('f', '{}') })
  t.match(partsOf([{ ...call, extra_content }]), [{ type: 'text', text: '', seal }, { type: 'call' }])
})

t.test('some servers say twice why a choice ended, or only in words of their own', async t => {
  const twice = [
    delta({ content: 'a' }),
    delta({ content: '' }, 'stop'),
    delta({ content: '' }, 'stop', { usage: USAGE }),
    DONE,
  ]
  t.equal(decode(twice).filter(({ type }) => type === 'end').length, 1)
  t.match(fold(decode(twice)).usage, { input: 3 })
})

t.test('a stream ends well behind a reason, or with [DONE] behind usage', async t => {
  const truncated = [{ type: 'error', error: { code: 'upstream_truncated' } }]
  const whole = streamOf([{ content: 'a' }])
  t.match(decode(whole.slice(0, -1)).slice(-1), [{ type: 'finish' }], 'without [DONE]')
  t.match(decode([delta({ content: 'a' }), DONE]).slice(-1), truncated, 'without a reason')
  t.match(decode([DONE]), truncated, 'without anything')
  t.match(decode([]), truncated, 'an empty stream')
  const silent = [
    delta(piece(0, { id: 'c', ...named('f', '{}') })),
    delta({ content: '' }, null, { usage: USAGE }),
    DONE,
  ]
  t.match(fold(decode(silent)).candidates, [{ end: { reason: 'tool' } }], 'usage tells that it has come to its end')
})

t.test('errors in the stream', async t => {
  const last = (...frames: readonly Frame[]): unknown => decode([delta({ content: 'a' }), ...frames]).at(-1)
  t.match(last(frame({ error: { message: 'Boom.', type: 'server_error', code: 'boom' } }), DONE), {
    type: 'error',
    error: { code: 'upstream_failed', message: 'Boom.', details: { phase: 'stream_error', familyCode: 'boom' } },
  })
  t.match(last({ event: 'error', data: '{"error":{"message":"No.","status_code":400}}' }), { error: { status: 400 } })
  t.match(last({ event: 'error', data: 'just words' }), { error: { code: 'upstream_failed', message: 'just words' } })
  t.match(last(frame({ ...HEAD, choices: [], error: { message: 'Wait.', code: 429 } })), {
    error: { code: 'rate_limited' },
  })
  t.match(last(frame({ error: { message: 'Bad key.', code: 401 } })), {
    error: { code: 'upstream_failed', status: 502 },
  })
  const inChoice = { index: 0, delta: {}, finish_reason: 'error', error: { message: 'Inside.', code: 502 } }
  t.match(last(frame({ ...HEAD, choices: [inChoice] })), { error: { message: 'Inside.' } })
})

t.test('frames that are none of the protocol are one error, and the last event', async t => {
  const bad = [
    ...['{', 'null', '7', '[]', '{}', '{"type":"message_start"}'],
    ...['{"choices":[1]}', '{"choices":[{"index":-1}]}', '{"choices":[{"index":1e9}]}', '{"choices":[{"index":"a"}]}'],
    ...['{"choices":[{"delta":{"tool_calls":[1]}}]}', '{"choices":[{"delta":{"tool_calls":[{"index":0}]}}]}'],
  ]
  for (const data of bad) {
    const events = decode([delta({ content: 'a' }), { data }, ...streamOf([{ content: 'b' }])])
    t.match(events.at(-1), { type: 'error', error: { code: 'bad_upstream_response' } }, data)
    t.notMatch(events, [{}, {}, { text: 'b' }], 'nothing more')
  }
})

t.test('content behind the end of a choice is an error, not lost', async t => {
  const late = [delta({ content: 'a' }), delta({}, 'stop'), delta({ content: 'b' }), DONE]
  t.match(decode(late).at(-1), { type: 'error', error: { code: 'bad_upstream_response' } })
})

t.test('a stream of ever more parts is stopped', async t => {
  const decoder = chat.client.decodeStream()
  let events: readonly TextEvent[] = []
  for (let i = 0; i < 20_000 && events.at(-1)?.type !== 'error'; i++) {
    events = decoder.push(delta(i % 2 === 0 ? { content: 'a' } : { reasoning_content: 'b' }))
  }
  t.match(events.at(-1), { type: 'error', error: { code: 'bad_upstream_response' } })
})

t.test('a stream without [DONE] is whole when every choice has ended, and cut otherwise', async t => {
  const end = (frames: readonly Frame[]): readonly TextEvent[] => {
    const decoder = chat.client.decodeStream()
    for (const one of frames) decoder.push(one)
    return decoder.end()
  }
  const whole = streamOf([{ content: 'a' }], 'stop', { usage: USAGE }).slice(0, -1)
  t.match(end(whole), [{ type: 'finish', usage: { input: 3, output: 2 } }])
  const other = frame({ ...HEAD, choices: [{ index: 1, delta: { content: 'b' }, finish_reason: null }] })
  t.match(end([...whole, other]), [{ type: 'error', error: { code: 'upstream_truncated' } }])
  t.match(end([...whole.slice(0, -1), frame({ ...HEAD, choices: [], usage: USAGE })]), [{ type: 'error' }])
  t.match(end([]), [{ type: 'error', error: { code: 'upstream_truncated' } }])
})

t.test('partial usage is kept, and later counts join earlier ones', async t => {
  const usage = (...reported: readonly JsonObject[]): unknown =>
    fold(
      decode([
        ...streamOf([{ content: 'a' }]).slice(0, -1),
        ...reported.map(usage => frame({ ...HEAD, choices: [], usage })),
        DONE,
      ]),
    ).usage
  t.strictSame(usage({ completion_tokens: 2 }), { output: 2 })
  t.strictSame(usage({ prompt_tokens: 3 }, { completion_tokens: 2 }), { input: 3, output: 2 })
  t.strictSame(usage({ completion_tokens: 2, total_tokens: 5 }), { input: 3, output: 2 })
  t.strictSame(usage({ total_tokens: 5 }), { total: 5 })
  t.strictSame(usage({ prompt_tokens: 3 }, {}), { input: 3 })
  const inChoice = frame({ ...HEAD, choices: [{ index: 0, delta: {}, finish_reason: 'stop', usage: USAGE }] })
  t.match(fold(decode([delta({ content: 'a' }), inChoice, DONE])).usage, { input: 3, output: 2 })
})
