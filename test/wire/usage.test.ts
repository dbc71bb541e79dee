import t from 'tap'
import type { Usage, UsagePaths } from '../../src/core/plan.js'
import { EventUsage } from '../../src/wire/event-usage.js'
import { SseRelay } from '../../src/wire/sse-relay.js'
import { Tail } from '../../src/wire/tail.js'
import { PassingUsage, usageAtEnd, usageOf } from '../../src/wire/usage.js'
import { fc } from '../helpers/property.js'

const PATHS: UsagePaths = {
  input: [['usage', 'prompt_tokens']],
  output: [['usage', 'completion_tokens']],
  total: [['usage', 'total_tokens']],
  cached: [['usage', 'prompt_tokens_details', 'cached_tokens']],
  cacheWrite: [['usage', 'prompt_tokens_details', 'cache_write_tokens']],
  reasoning: [['usage', 'completion_tokens_details', 'reasoning_tokens']],
  inputAudio: [['usage', 'prompt_tokens_details', 'audio_tokens']],
  outputAudio: [['usage', 'completion_tokens_details', 'audio_tokens']],
}
const EVENTS: UsagePaths = {
  input: [['response', 'usage', 'input_tokens']],
  output: [['response', 'usage', 'output_tokens']],
  cached: [['response', 'usage', 'input_tokens_details', 'cached_tokens']],
}
/** Counts what came from a cache beside the rest, and tells some of it in the first event only. */
const PARTS: UsagePaths = {
  input: [
    ['usage', 'input_tokens'],
    ['usage', 'cache_read_input_tokens'],
    ['message', 'usage', 'input_tokens'],
    ['message', 'usage', 'cache_read_input_tokens'],
  ],
  output: [
    ['usage', 'output_tokens'],
    ['message', 'usage', 'output_tokens'],
  ],
}
const USAGE = {
  prompt_tokens: 12,
  completion_tokens: 100,
  total_tokens: 112,
  prompt_tokens_details: { cached_tokens: 5, cache_write_tokens: 3, audio_tokens: 2 },
  completion_tokens_details: { reasoning_tokens: 60, audio_tokens: 30 },
}
const ALL: Usage = {
  input: 12,
  output: 100,
  total: 112,
  cached: 5,
  cacheWrite: 3,
  reasoning: 60,
  inputAudio: 2,
  outputAudio: 30,
}

function fromJson(text: string, paths = PATHS, size = 7): Usage | undefined {
  const passing = new PassingUsage(paths)
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; at += size) passing.push(bytes, at, Math.min(at + size, bytes.length))
  return passing.usage()
}

/** `lost`: so many bytes that came before are no longer there. */
function fromSse(text: string, paths = PATHS, lost = 0): Usage | undefined {
  const tail = new Tail()
  if (lost > 0) tail.push(Buffer.alloc(lost, 'x'))
  tail.push(Buffer.from(text))
  return new EventUsage(paths).usage(tail, undefined)
}

const events = (...data: unknown[]): string => data.map(each => `data: ${JSON.stringify(each)}\n\n`).join('')

t.test('usage is read from any place of a JSON answer', async t => {
  for (const answer of [
    { choices: [], usage: USAGE },
    { usage: USAGE, choices: [{ text: 'x'.repeat(5000) }] },
  ]) {
    t.same(fromJson(JSON.stringify(answer)), ALL)
    t.same(fromJson(JSON.stringify(answer, null, 2)), ALL, 'however it is laid out')
  }
})

t.test('usage in the last members is read without the rest, and only where it is nowhere else', async t => {
  const atEnd = (answer: unknown): Usage | undefined =>
    usageAtEnd(Buffer.from(typeof answer === 'string' ? answer : JSON.stringify(answer)), PATHS)
  t.same(atEnd({ id: '東京', choices: [{ text: 'the "usage": {' }], usage: USAGE }), ALL)
  t.same(atEnd({ choices: [], usage: USAGE, service_tier: 'default', more: { list: [1] } }), ALL)
  t.same(atEnd(`${JSON.stringify({ choices: [], usage: USAGE }, null, 2)}\n`), ALL)
  for (const unsure of [
    { choices: [{ usage: USAGE }] },
    { x: { usage: { prompt_tokens: 1 } }, usage: USAGE },
    { object: 'usage', usage: USAGE },
    { choices: [], usage: null },
    { choices: [] },
    '{"usage":{"prompt_tokens":1},}',
    '{"usage":{"prompt_tokens":1}}{}',
    '{"usage":{"prompt_tokens":1}',
    '"usage":{"prompt_tokens":1}}}',
  ])
    t.equal(atEnd(unsure), undefined, JSON.stringify(unsure))
})

t.test('usage is read from the middle of an answer', async t => {
  const choices = [{ text: 'x'.repeat(50_000) }]
  t.same(fromJson(JSON.stringify({ choices, usage: USAGE, more: choices }), PATHS, 1000), ALL)
})

t.test('usage is read at its declared places alone', async t => {
  const wrong = { prompt_tokens: 999999, total_tokens: 1 }
  const call = { function: { arguments: { usage: wrong, response: { usage: wrong } } }, usage: wrong }
  for (const answer of [
    { choices: [{ message: { tool_calls: [call] } }] },
    { usage: null, more: { usage: wrong }, list: [{ usage: wrong }] },
    [{ usage: wrong }],
  ]) {
    const text = JSON.stringify(answer)
    t.equal(fromJson(text), undefined, text)
    t.equal(fromSse(`data: ${text}\n\n`), undefined)
    t.equal(usageOf(answer, PATHS), undefined)
  }
  const right = { calls: [call], usage: USAGE, more: { usage: wrong } }
  t.same(fromJson(JSON.stringify(right)), ALL)
  t.same(fromSse(events(right, { calls: [call] })), ALL)
})

t.test('the last member of a name counts, as for JSON.parse', async t => {
  t.same(fromJson('{"usage":{"prompt_tokens":1},"usage":{"total_tokens":2}}'), { total: 2 })
  t.equal(fromJson('{"usage":{"prompt_tokens":1},"us\\u0061ge":null}'), undefined)
  t.equal(fromJson('{"response":{"usage":{"input_tokens":1}},"response":[]}', EVENTS), undefined)
})

t.test('what a model writes about usage does not count', async t => {
  const content = 'the answer is "usage": {"prompt_tokens": 999999}'
  t.equal(fromJson(JSON.stringify({ choices: [{ message: { content } }] })), undefined)
  t.equal(fromJson(JSON.stringify({ object: 'usage', list: ['usage', { prompt_tokens: 3 }] })), undefined)
})

t.test('the last usage counts, number by number', async t => {
  t.same(fromSse(events({ usage: { prompt_tokens: 1, total_tokens: 3 } }, { usage: { prompt_tokens: 2 } })), {
    input: 2,
    total: 3,
  })
})

t.test('usage is read from the last events of a stream that have it', async t => {
  const chunk = { choices: [{ delta: { content: 'hi' } }], usage: null }
  t.same(fromSse(`${events(chunk, chunk, { choices: [], usage: USAGE })}data: [DONE]\n\n`), ALL)
  t.same(fromSse(events({ usage: { prompt_tokens: 1 } }, { usage: USAGE }, ...Array(30).fill(chunk))), ALL)
  t.equal(fromSse(events(chunk, chunk)), undefined)
})

t.test('an event whose beginning is missing tells nothing: no one knows what its names belong to', async t => {
  const usage = { input_tokens: 3, output_tokens: 4, input_tokens_details: { cached_tokens: 0 } }
  const stream = events({ type: 'completed', response: { output: ['x'.repeat(3000)], usage, metadata: {} } })
  t.same(fromSse(stream, EVENTS), { input: 3, output: 4, cached: 0 })
  const lost = 16 * 1024 - stream.length + 2000
  t.equal(fromSse(stream, EVENTS, lost), undefined)
  t.same(fromSse(stream + events({ response: { usage } }), EVENTS, lost), { input: 3, output: 4, cached: 0 })
})

t.test('the usage of a last event is read however long it is', async t => {
  for (let length = 16_300; length < 16_450; length++) {
    const usage = new EventUsage(EVENTS)
    const tail = new Tail()
    const relay = new SseRelay({ line: 2 ** 20, event: 2 ** 20, end: undefined, onLarge: data => usage.large(data) })
    const counts = { input_tokens: 3, output_tokens: 4 }
    const empty = events({ response: { output: '', usage: counts } })
    const last = events({ response: { output: 'x'.repeat(length - empty.length), usage: counts } })
    tail.push(relay.push(Buffer.from(`${last}data: [DONE]\n\n`)) ?? Buffer.alloc(0))
    if (usage.usage(tail, undefined)?.input !== 3) t.fail(`${length} bytes`)
  }
  t.pass('each of them')
})

t.test('an event that is longer than what is kept of the end is read as it passes', async t => {
  const usage = new EventUsage(EVENTS)
  const told = (input_tokens: number, output_tokens?: number): Buffer =>
    Buffer.from(JSON.stringify({ response: { output: 'x'.repeat(20_000), usage: { input_tokens, output_tokens } } }))
  usage.large(told(1, 2))
  usage.large(told(5))
  usage.large(Buffer.from(`{"x":"${'x'.repeat(20_000)}"}`))
  t.same(usage.usage(new Tail(), undefined), { input: 5, output: 2 })
  const tail = new Tail()
  tail.push(Buffer.from(events({ response: { usage: { input_tokens: 7 } } })))
  t.same(usage.usage(tail, undefined), { input: 7, output: 2 }, 'events behind it count before it')
})

t.test('numbers at several paths are added up, those that are there', async t => {
  const usage = { input_tokens: 5, cache_read_input_tokens: 100, output_tokens: 7 }
  t.same(fromJson(JSON.stringify({ usage }), PARTS), { input: 105, output: 7 })
  t.same(usageOf({ usage }, PARTS), { input: 105, output: 7 })
  t.same(fromJson(JSON.stringify({ usage: { input_tokens: 5 } }), PARTS), { input: 5 })
  t.equal(usageOf({ usage: {} }, PARTS), undefined)
})

t.test('places of one number count once', async t => {
  const answer = { usage: { input_tokens: 5 }, message: { usage: { input_tokens: 9, cache_read_input_tokens: 1 } } }
  t.same(usageOf(answer, PARTS), { input: 6 })
  t.same(fromJson(JSON.stringify(answer), PARTS), { input: 6 })
})

t.test('paths of any other field than input and output are places of one number: the first with a count', async t => {
  const paths = {
    cached: [
      ['usage', 'details', 'cached'],
      ['usage', 'hits'],
    ],
  }
  for (const [usage, cached] of [
    [{ details: { cached: 5 }, hits: 7 }, 5],
    [{ hits: 7, details: { cached: null } }, 7],
    [{ hits: 7, details: { cached: 0 } }, 0],
  ] as const) {
    t.same(usageOf({ usage }, paths), { cached })
    t.same(fromJson(JSON.stringify({ usage }), paths), { cached })
    t.same(fromSse(events({ usage: { hits: 1 } }, { usage }), paths), { cached })
  }
})

t.test('an element of a list by a member', async t => {
  const paths = { inputAudio: [['usage', 'kinds', '[kind=sound]', 'count']], input: [['usage', 'count']] }
  const text = { kind: 'text', count: 1 }
  for (const [kinds, inputAudio] of [
    [[text, { kind: 'sound', count: 7 }], 7],
    [[{ count: 7, kind: 'sound' }, text, { kind: 'sound', count: 9 }], 7],
    [[text, { kind: 'sound' }, null, 'sound', ['kind']], undefined],
    [{ kind: 'sound', count: 7 }, undefined],
    [null, undefined],
  ] as const) {
    const usage = { count: 3, kinds }
    const expected = { ...(inputAudio !== undefined && { inputAudio }), input: 3 }
    t.same(usageOf({ usage }, paths), expected)
    t.same(fromJson(JSON.stringify({ usage }), paths), expected)
    t.same(fromSse(events({ usage }), paths), expected)
  }
  const alone = { inputAudio: paths.inputAudio }
  t.same(fromJson('{"usage":{"kinds":[{"kind":"sound","count":7}]}}', alone), { inputAudio: 7 })
  t.same(fromSse(events({ usage: { kinds: [{ kind: 'sound', count: 7 }] } }), alone), { inputAudio: 7 })
})

t.test('what is in the total alone is output, unless it is just what was heard or cached', async t => {
  const usage = { prompt_tokens: 10, completion_tokens: 20 }
  const sides = (total: number, more: object = {}): readonly (number | undefined)[] => {
    const read = usageOf({ usage: { ...usage, total_tokens: total, ...more } }, PATHS)
    return [read?.input, read?.output]
  }
  const heard = { prompt_tokens_details: { audio_tokens: 7 } }
  const cached = { prompt_tokens_details: { cached_tokens: 5, cache_write_tokens: 2 } }
  const thought = { completion_tokens_details: { reasoning_tokens: 7 } }
  t.same(sides(30), [10, 20])
  t.same(sides(29), [10, 20], 'less than both')
  t.same(sides(37), [10, 27])
  t.same(sides(37, thought), [10, 27])
  t.same(sides(37, heard), [17, 20])
  t.same(sides(37, cached), [17, 20])
  t.same(sides(37, { ...heard, ...thought }), [10, 27], 'thoughts, if it may be either')
  t.same(sides(38, heard), [10, 28])
})

t.test('each number of a sum counts once, where it was reported last', async t => {
  const start = { message: { usage: { input_tokens: 5, cache_read_input_tokens: 100, output_tokens: 1 } } }
  t.same(fromSse(events(start, { usage: { output_tokens: 7 } }), PARTS), { input: 105, output: 7 })
  t.same(fromSse(events(start, { usage: { input_tokens: 6, output_tokens: 7 } }), PARTS), { input: 106, output: 7 })
})

t.test('a path of one name leads to the number itself', async t => {
  t.same(fromJson('{"tokens": 7, "x": 1}', { total: [['tokens']] }), { total: 7 })
  t.same(fromSse('data: {"tokens":7}\n\n', { total: [['tokens']] }), { total: 7 })
  t.equal(fromJson('{"tokens":7}', {}), undefined)
  t.equal(fromJson('{"tokens":7}', { total: [[]] }), undefined)
  t.equal(fromJson('{"tokens":7}', { total: [] }), undefined)
})

t.test('F-U24 what is not a whole number from 0 to 1e12 does not count', async t => {
  for (const bad of ['-1', '1.5', '"12"', 'null', 'true', '[1]', '{}', '1e13', '1e400', '-0.5'])
    t.equal(fromJson(`{"usage":{"prompt_tokens":${bad}}}`), undefined, bad)
  for (const [good, count] of [
    ['0', 0],
    ['1e3', 1000],
    ['1000000000000', 1e12],
    ['5.0', 5],
  ] as const)
    t.same(fromJson(`{"usage":{"prompt_tokens":${good}}}`), { input: count }, good)
})

t.test('F-U24 broken or hostile answers have no usage, and throw nothing', async t => {
  for (const text of [
    '',
    '{',
    '"usage"',
    '"usage":',
    '"usage":{',
    '"usage":{"prompt_tokens":',
    '"usage":}',
    '"usage" : x',
    '\\"usage":1',
  ])
    t.equal(fromJson(text), undefined, text)
  t.equal(fromJson('{"usage":{"__proto__":{"prompt_tokens":1},"constructor":2}}'), undefined)
  t.equal(fromJson('{"usage":{}}', { input: [['usage', 'constructor', 'length']] }), undefined)
  t.equal(fromJson('"usage":{'.repeat(1800)), undefined)
})

t.test('F-U24 nothing makes it throw', async () => {
  const piece = fc.constantFrom(
    '"usage"',
    ':',
    '{',
    '}',
    '"prompt_tokens":1',
    ',',
    '"',
    '\\',
    '[',
    ']',
    ' ',
    'data: ',
    '\n\n',
    'null',
    '1',
  )
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 30 }), pieces => {
      fromJson(pieces.join(''))
      fromSse(pieces.join(''), EVENTS)
    }),
    { numRuns: 1000 },
  )
})
