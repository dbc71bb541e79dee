import t from 'tap'
import { chat } from '../../../src/codecs/chat/index.js'
import { fold, unfold } from '../../../src/codecs/fold.js'
import type { Frame } from '../../../src/core/codec.js'
import { GatewayError } from '../../../src/core/errors.js'
import type { JsonObject } from '../../../src/core/json.js'
import type { Part, TextEvent, TextResult } from '../../../src/core/text.js'
import { answerTo, decodeAll, encodeAll, requestOf } from '../support.js'

const CALL: Part = { type: 'call', id: 'c1', name: 'f', arguments: '{"a":1}' }

function resultOf(parts: readonly Part[], more: Partial<TextResult> = {}): TextResult {
  return {
    id: 'answer-1',
    model: 'upstream-model',
    created: 7,
    candidates: [{ parts, end: { reason: parts.some(({ type }) => type === 'call') ? 'tool' : 'stop' } }],
    usage: { input: 3, output: 2 },
    ...more,
  }
}

function framesOf(result: TextResult, streamUsage = false, body: JsonObject = {}): Frame[] {
  return encodeAll(chat, unfold(result), answerTo(requestOf({ stream: true, streamUsage }), body))
}

interface Chunk {
  readonly [name: string]: unknown
  readonly choices: readonly [{ readonly delta: JsonObject; readonly finish_reason: string | null }]
}

function chunksOf(frames: readonly Frame[]): Chunk[] {
  return frames.filter(({ data }) => data !== '[DONE]').map(({ data }) => JSON.parse(data) as Chunk)
}

function deltasOf(parts: readonly Part[], body: JsonObject = {}): JsonObject[] {
  return chunksOf(framesOf(resultOf(parts), false, body)).map(({ choices }) => choices[0].delta)
}

t.test('the role first, the reason last, [DONE] behind it; all with one head', async t => {
  const frames = framesOf(resultOf([{ type: 'text', text: 'Hi.' }]))
  t.same(frames.at(-1), { data: '[DONE]' })
  const chunks = chunksOf(frames)
  t.same(
    chunks.map(({ choices }) => [choices[0].delta, choices[0].finish_reason]),
    [
      [{ role: 'assistant', content: null, refusal: null }, null],
      [{ content: 'Hi.' }, null],
      [{}, 'stop'],
    ],
  )
  const head = { id: 'answer-1', object: 'chat.completion.chunk', created: 7, model: 'upstream-model' }
  for (const chunk of chunks) t.match(chunk, head)
})

t.test('usage is told to who asked, in a chunk without choices, and null before', async t => {
  const chunks = chunksOf(framesOf(resultOf([{ type: 'text', text: 'Hi.' }], { serviceTier: 'STANDARD' }), true))
  const last = chunks.pop()
  t.same(last?.choices, [])
  t.match(last, { usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 }, service_tier: 'default' })
  for (const chunk of chunks) t.equal(chunk.usage, null)
})

t.test('who did not ask for usage sees no such member', async t => {
  for (const chunk of chunksOf(framesOf(resultOf([{ type: 'text', text: 'Hi.' }])))) t.notOk('usage' in chunk)
})

t.test('usage of the beginning counts where the end tells none', async t => {
  const events: TextEvent[] = [
    { type: 'start', id: 'a', model: 'b', usage: { input: 9, output: 1 } },
    { type: 'end', candidate: 0, end: { reason: 'stop' } },
    { type: 'finish' },
  ]
  const frames = encodeAll(chat, events, answerTo(requestOf({ streamUsage: true })))
  t.match(chunksOf(frames).at(-1), { usage: { prompt_tokens: 9 } })
})

t.test('calls count from 0 on, whatever parts they are', async t => {
  const calls = deltasOf([{ type: 'text', text: 'a' }, CALL, { ...CALL, id: 'c2', arguments: '' }]).flatMap(
    ({ tool_calls = [] }) => tool_calls as JsonObject[],
  )
  t.same(calls, [
    { index: 0, id: 'c1', type: 'function', function: { name: 'f', arguments: '' } },
    { index: 0, function: { arguments: '{"a":1}' } },
    { index: 1, id: 'c2', type: 'function', function: { name: 'f', arguments: '' } },
    { index: 1, function: { arguments: '{}' } },
  ])
})

t.test('pieces of several calls keep the index of their call', async t => {
  const start = (index: number, id: string): TextEvent => ({
    ...{ type: 'part-start', candidate: 0, index, part: { type: 'call', id, name: 'f', arguments: '' } },
  })
  const grow = (index: number, text: string): TextEvent => ({ type: 'part-delta', candidate: 0, index, text })
  const end = (index: number): TextEvent => ({ type: 'part-end', candidate: 0, index })
  const events: TextEvent[] = [
    { type: 'start', id: 'a', model: 'b' },
    ...[start(0, 'c1'), start(1, 'c2'), grow(1, '{"b":'), grow(0, '{}'), grow(1, '2}'), end(0), end(1)],
    { type: 'end', candidate: 0, end: { reason: 'tool' } },
    { type: 'finish' },
  ]
  const [{ parts } = { parts: [] }] = fold(decodeAll(chat, encodeAll(chat, events, answerTo(requestOf())))).candidates
  t.match(parts, [
    { id: 'c1', arguments: '{}' },
    { id: 'c2', arguments: '{"b":2}' },
  ])
})

t.test('thoughts are one text, with a blank line between two of them', async t => {
  const thoughts = deltasOf([
    { type: 'reasoning', text: 'One.' },
    { type: 'text', text: 'a' },
    { type: 'reasoning', text: 'Two.' },
  ])
  t.match(thoughts.slice(1, 4), [{ reasoning_content: 'One.' }, { content: 'a' }, { reasoning_content: '\n\nTwo.' }])
})

t.test('a seal is reported when its part ends; the thought is not said again', async t => {
  const seal = { by: 'messages', value: 's' }
  const parts: Part[] = [
    { type: 'reasoning', text: 'Hm.', seal },
    { ...CALL, seal },
    { type: 'text', text: 'a', seal },
  ]
  t.match(deltasOf(parts), [
    { role: 'assistant' },
    { reasoning_content: 'Hm.' },
    { reasoning_details: [{ type: 'reasoning.text', text: undefined, signature: /^gw1\.messages\./ }] },
    {},
    {},
    { tool_calls: [{ index: 0, extra_content: { gateway: { seal: /^gw1\.messages\./ } } }] },
    { content: 'a' },
    { extra_content: { gateway: { seal: /^gw1\./ } } },
    {},
  ])
  t.match(
    fold(decodeAll(chat, framesOf(resultOf(parts)))).candidates[0]?.parts,
    parts,
    'a gateway behind it understands',
  )
})

t.test('citations count from the beginning of the message', async t => {
  const citations = [{ url: 'https://a.example', start: 0, end: 4 }]
  const deltas = deltasOf([
    { type: 'text', text: 'One. ' },
    { type: 'text', text: 'Two.', citations },
  ])
  t.match(deltas[3], { annotations: [{ url_citation: { url: 'https://a.example', start_index: 5, end_index: 9 } }] })
})

t.test('a client that speaks of functions gets one function_call', async t => {
  const frames = framesOf(resultOf([CALL, { ...CALL, id: 'c2' }]), false, { functions: [] })
  t.match(
    chunksOf(frames).map(({ choices }) => choices[0]),
    [
      { delta: { role: 'assistant' } },
      { delta: { function_call: { name: 'f', arguments: '' } } },
      { delta: { function_call: { arguments: '{"a":1}' } } },
      { delta: {}, finish_reason: 'function_call' },
    ],
  )
})

t.test('several choices, each with its role', async t => {
  const candidate = (text: string): TextResult['candidates'][number] => ({
    parts: [{ type: 'text', text }],
    end: { reason: 'stop' },
  })
  const result = resultOf([], { candidates: [candidate('a'), candidate('b')] })
  t.match(fold(decodeAll(chat, framesOf(result))).candidates, result.candidates)
})

t.test('an error is the last frame, without [DONE]', async t => {
  const error = new GatewayError('upstream_failed', 'Boom.', { familyCode: 'boom' })
  const encoder = chat.server.encodeStream(answerTo(requestOf({ streamUsage: true })))
  encoder.push({ type: 'start', id: 'a', model: 'b' })
  const frames = encoder.push({ type: 'error', error })
  t.equal(frames.length, 1)
  t.match(JSON.parse(frames[0]!.data), { error: { message: 'Boom.', type: 'server_error', code: 'boom' } })
  t.same(encoder.push({ type: 'finish' }), [])
})

t.test('text of any kind is one line of JSON', async t => {
  const text = '\u2028 \ud800 "\\\n\u0000 😔'
  const deltas = deltasOf([{ type: 'text', text }])
  t.equal(deltas[1]?.content, text)
})
