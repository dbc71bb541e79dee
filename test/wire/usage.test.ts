import t from 'tap'
import type { Usage, UsagePaths } from '../../src/core/plan.js'
import { readUsage, usageOf } from '../../src/wire/usage.js'
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
  ],
  output: [['usage', 'output_tokens']],
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

const fromJson = (text: string, paths = PATHS): Usage | undefined => readUsage(Buffer.from(text), paths, 'json')
const fromSse = (text: string, paths = PATHS): Usage | undefined => readUsage(Buffer.from(text), paths, 'sse')
const events = (...data: unknown[]): string => data.map(each => `data: ${JSON.stringify(each)}\n\n`).join('')

t.test('usage is read from a JSON answer, wherever it stands', async t => {
  for (const answer of [
    { choices: [], usage: USAGE },
    { usage: USAGE, choices: [{ text: 'x'.repeat(5000) }] },
  ]) {
    t.same(fromJson(JSON.stringify(answer)), ALL)
    t.same(fromJson(JSON.stringify(answer, null, 2)), ALL, 'however it is laid out')
  }
})

t.test('usage is read from the end of an answer whose beginning is missing', async t => {
  const text = JSON.stringify({ choices: [{ text: 'say "usage": {"prompt_tokens": 1}' }], usage: USAGE, id: 'x' })
  for (let from = 0; from < text.indexOf('"usage":{"prompt_tokens":12'); from++) t.same(fromJson(text.slice(from)), ALL)
})

t.test('what a model writes about usage does not count', async t => {
  const content = 'the answer is "usage": {"prompt_tokens": 999999}'
  t.equal(fromJson(JSON.stringify({ choices: [{ message: { content } }] })), undefined)
  t.equal(fromJson(JSON.stringify({ object: 'usage', list: ['usage', { prompt_tokens: 3 }] })), undefined)
})

t.test('the last usage counts, number by number', async t => {
  const parts = { usage: { prompt_tokens: 1, total_tokens: 3 }, more: { usage: { prompt_tokens: 2 } } }
  t.same(fromJson(JSON.stringify(parts)), { input: 2, total: 3 })
})

t.test('usage is read from the last events of a stream that have it', async t => {
  const chunk = { choices: [{ delta: { content: 'hi' } }], usage: null }
  t.same(fromSse(`${events(chunk, chunk, { choices: [], usage: USAGE })}data: [DONE]\n\n`), ALL)
  t.same(fromSse(events({ usage: { prompt_tokens: 1 } }, { usage: USAGE }, ...Array(30).fill(chunk))), ALL)
  t.equal(fromSse(events(chunk, chunk)), undefined)
})

t.test('usage deep in an event is read though the event begins before the tail', async t => {
  const usage = { input_tokens: 3, output_tokens: 4, input_tokens_details: { cached_tokens: 0 } }
  const stream = events({ type: 'completed', response: { output: ['x'.repeat(3000)], usage, metadata: {} } })
  t.same(fromSse(stream, EVENTS), { input: 3, output: 4, cached: 0 })
  t.same(fromSse(stream.slice(2000), EVENTS), { input: 3, output: 4, cached: 0 })
})

t.test('numbers at several paths are added up, as far as they are there', async t => {
  const usage = { input_tokens: 5, cache_read_input_tokens: 100, output_tokens: 7 }
  t.same(fromJson(JSON.stringify({ usage }), PARTS), { input: 105, output: 7 })
  t.same(usageOf({ usage }, PARTS), { input: 105, output: 7 })
  t.same(fromJson(JSON.stringify({ usage: { input_tokens: 5 } }), PARTS), { input: 5 })
  t.equal(usageOf({ usage: {} }, PARTS), undefined)
})

t.test('each number of a sum counts once, where it was told last', async t => {
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

t.test('F-U24 what is no whole number from 0 to 1e12 does not count', async t => {
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
  t.equal(fromJson(`${'"usage":{"prompt_tokens":'.repeat(600)}1${'}'.repeat(600)}`)?.input, 1)
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
