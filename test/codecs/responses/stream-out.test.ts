import t from 'tap'
import { fold, unfold } from '../../../src/codecs/fold.js'
import { responses } from '../../../src/codecs/responses/index.js'
import { GatewayError } from '../../../src/core/errors.js'
import { isObject, type Json, type JsonObject } from '../../../src/core/json.js'
import type { Part, TextEvent } from '../../../src/core/text.js'
import { answerTo, decodeAll, encodeAll, requestOf } from '../support.js'
import { call, documents, resultOf, text } from './support.js'

const SEAL = { by: 'responses', value: 'c2Vh' }

function documentsOf(...parts: readonly Part[]): readonly JsonObject[] {
  return documents(unfold(resultOf(parts, { usage: { input: 3, output: 2 } }))).documents
}

function namesOf(sent: readonly JsonObject[]): readonly string[] {
  return sent.map(({ type }) => String(type).replace('response.', ''))
}

/** The frame of every stream; what is between is the matter of a test. */
function between(sent: readonly JsonObject[]): readonly string[] {
  const names = namesOf(sent)
  t.same(names.slice(0, 2), ['created', 'in_progress'])
  t.equal(names.at(-1), 'completed')
  return names.slice(2, -1)
}

t.test('events are named, numbered from 0 on, and of one response', async t => {
  const { documents: sent, frames } = documents(unfold(resultOf([text('Rain.'), call('c')])))
  t.same(
    frames.map(({ event }) => event),
    sent.map(({ type }) => type),
  )
  t.same(
    sent.map(({ sequence_number }) => sequence_number),
    sent.map((_, i) => i),
  )
  const responses = sent.flatMap(({ response }) => (isObject(response) ? [response] : []))
  t.equal(new Set(responses.map(({ id }) => id)).size, 1)
  t.match(responses, [
    { status: 'in_progress', output: [], usage: null, model: 'up', created_at: 7 },
    { status: 'in_progress' },
    { status: 'completed' },
  ])
})

t.test('a text goes up the whole ladder and down again', async t => {
  const citations = [{ url: 'https://a.example', title: 'A', start: 0, end: 4 }]
  const logprobs = [{ token: 'Rain.', logprob: -1 }]
  const sent = documentsOf({ type: 'text', text: 'Rain.', citations, logprobs })
  t.same(between(sent), [
    ...['output_item.added', 'content_part.added', 'output_text.delta', 'output_text.annotation.added'],
    ...['output_text.done', 'content_part.done', 'output_item.done'],
  ])
  const annotation = { type: 'url_citation', url: 'https://a.example', title: 'A', start_index: 0, end_index: 4 }
  const told = [{ token: 'Rain.', logprob: -1, bytes: [], top_logprobs: [] }]
  const part = { type: 'output_text', text: 'Rain.', annotations: [annotation], logprobs: told }
  t.match(sent.slice(2), [
    { item: { type: 'message', role: 'assistant', status: 'in_progress', content: [] } },
    { part: { type: 'output_text', text: '', annotations: [], logprobs: [] } },
    { delta: 'Rain.', logprobs: told },
    { annotation_index: 0, annotation },
    { text: 'Rain.', logprobs: told },
    { part },
    { item: { type: 'message', status: 'completed', content: [part] } },
    { response: { output: [{ content: [part] }], usage: { total_tokens: 5 } } },
  ])
})

t.test('what belongs to one item says so in each of its events', async t => {
  const sent = documentsOf(text('a'), { type: 'reasoning', text: 'b' }, call('c'), { type: 'refusal', text: 'd' })
  const ids = new Map<Json, Set<Json>>()
  for (const { output_index, item_id, item, content_index, summary_index } of sent) {
    if (output_index === undefined) continue
    const known = ids.get(output_index) ?? new Set()
    known.add(item_id ?? (isObject(item) ? (item.id ?? null) : null))
    ids.set(output_index, known)
    t.ok((content_index ?? 0) === 0 && (summary_index ?? 0) === 0)
  }
  t.same([...ids.keys()], [0, 1, 2, 3])
  const last = sent.at(-1)?.response as { output: { id: string }[] }
  t.same(
    [...ids.values()].map(known => [...known]),
    last.output.map(({ id }) => [id]),
  )
})

t.test('thoughts are shown as a summary, and what sealed them comes with their end', async t => {
  const sent = documentsOf({ type: 'reasoning', text: 'Hm.', seal: SEAL })
  t.same(between(sent), [
    ...['output_item.added', 'reasoning_summary_part.added', 'reasoning_summary_text.delta'],
    ...['reasoning_summary_text.done', 'reasoning_summary_part.done', 'output_item.done'],
  ])
  const summary = [{ type: 'summary_text', text: 'Hm.' }]
  t.match(sent.at(-2), { item: { type: 'reasoning', id: /^rs_/, summary, encrypted_content: 'c2Vh' } })
})

t.test('hidden thoughts are added and done, under their own id', async t => {
  const sent = documentsOf({ type: 'reasoning', text: '', seal: SEAL, id: 'rs_7' })
  t.same(between(sent), ['output_item.added', 'output_item.done'])
  t.match(sent.at(-2), { item: { id: 'rs_7', summary: [], encrypted_content: 'c2Vh' } })
})

t.test('a call comes in the pieces in which it came', async t => {
  const start: TextEvent = { type: 'part-start', candidate: 0, index: 0, part: call('call_1', 'f', '') }
  const { documents: sent } = documents([
    { type: 'start', id: 'a', model: 'b' },
    start,
    ...['{"a"', ':', '1}'].map((text): TextEvent => ({ type: 'part-delta', candidate: 0, index: 0, text })),
    { type: 'part-end', candidate: 0, index: 0 },
    { type: 'end', candidate: 0, end: { reason: 'tool' } },
    { type: 'finish' },
  ])
  t.match(sent.slice(2), [
    {
      type: 'response.output_item.added',
      item: { call_id: 'call_1', name: 'f', arguments: '', status: 'in_progress' },
    },
    { type: 'response.function_call_arguments.delta', delta: '{"a"' },
    { type: 'response.function_call_arguments.delta', delta: ':' },
    { type: 'response.function_call_arguments.delta', delta: '1}' },
    { type: 'response.function_call_arguments.done', name: 'f', arguments: '{"a":1}' },
    { type: 'response.output_item.done', item: { arguments: '{"a":1}', status: 'completed' } },
    { type: 'response.completed', response: { usage: null } },
  ])
})

t.test('calls of functions and of tools of free text', async t => {
  const sent = documentsOf(call('call_1', 'f', ''), { ...call('call_2', 'sql', 'SELECT 1'), custom: true } as Part)
  t.same(between(sent), [
    ...['output_item.added', 'function_call_arguments.done', 'output_item.done'],
    ...['output_item.added', 'custom_tool_call_input.delta', 'custom_tool_call_input.done', 'output_item.done'],
  ])
  t.match(sent[3], { arguments: '{}' })
  t.match(sent[7], { input: 'SELECT 1' })
})

t.test('calls that come at the same time keep their places', async t => {
  const events: TextEvent[] = [
    { type: 'start', id: 'a', model: 'b' },
    { type: 'part-start', candidate: 0, index: 0, part: call('call_1', 'f', '') },
    { type: 'part-start', candidate: 0, index: 1, part: call('call_2', 'f', '') },
    { type: 'part-delta', candidate: 0, index: 1, text: '{"b":' },
    { type: 'part-delta', candidate: 0, index: 0, text: '{}' },
    { type: 'part-delta', candidate: 0, index: 1, text: '2}' },
    { type: 'part-end', candidate: 0, index: 1 },
    { type: 'part-end', candidate: 0, index: 0 },
    { type: 'end', candidate: 0, end: { reason: 'tool' } },
    { type: 'finish' },
  ]
  const { documents: sent, frames } = documents(events)
  t.same(
    sent.slice(2, -1).map(({ output_index }) => output_index),
    [0, 1, 1, 0, 1, 1, 1, 0, 0],
  )
  t.match(sent.at(-1), { response: { output: [{ call_id: 'call_1' }, { call_id: 'call_2', arguments: '{"b":2}' }] } })
  t.match(fold(decodeAll(responses, frames)).candidates[0]?.parts, [{ arguments: '{}' }, { arguments: '{"b":2}' }])
})

t.test('a refusal, said in words or by its reason alone', async t => {
  const names = [
    ...['output_item.added', 'content_part.added', 'refusal.delta'],
    ...['refusal.done', 'content_part.done', 'output_item.done'],
  ]
  t.same(between(documentsOf({ type: 'refusal', text: 'No.' })), names)
  const candidates = [{ parts: [text('a')], end: { reason: 'refusal' as const } }]
  const { documents: sent } = documents(unfold(resultOf([], { candidates })))
  t.match(sent.at(-1), { response: { output: [{}, { content: [{ type: 'refusal', refusal: '' }] }] } })
  const said = [{ parts: [{ type: 'refusal' as const, text: 'No.' }], end: { reason: 'refusal' as const } }]
  t.same(between(documents(unfold(resultOf([], { candidates: said }))).documents), names, 'and not twice')
})

t.test('an image comes with its end, under the id with which it was announced', async t => {
  const sent = documentsOf({ type: 'media', kind: 'image', source: { base64: 'AAAA' } })
  t.same(between(sent), ['output_item.added', 'output_item.done'])
  const [added, done] = sent.slice(2, 4).map(({ item }) => item as JsonObject)
  t.match(added, { type: 'image_generation_call', status: 'in_progress', result: null })
  t.same(done, { ...added, status: 'completed', result: 'AAAA' })
})

t.test('items that this protocol alone knows come as they are', async t => {
  const value = { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search', query: 'rain' } }
  const sent = documentsOf({ type: 'hosted', of: 'responses', value })
  t.match(sent.slice(2), [{ item: value }, { item: value }, { response: { output: [value] } }])
})

t.test('seals of texts and calls are in their own items, as no empty thought beside them', async t => {
  const seal = { by: 'generate', value: 'x' }
  const behind = documentsOf({ ...text('a'), seal } as Part)
  t.match(behind.at(-1), { response: { output: [{ type: 'message', encrypted_content: /^gw1\.generate\./ }] } })
  t.equal((behind.at(-1) as { response: { output: unknown[] } }).response.output.length, 1)
  const { documents: ahead, frames } = documents([
    { type: 'start', id: 'a', model: 'b' },
    { type: 'part-start', candidate: 0, index: 0, part: { ...call('c'), seal } as Part },
    { type: 'part-end', candidate: 0, index: 0 },
    { type: 'end', candidate: 0, end: { reason: 'tool' } },
    { type: 'finish' },
  ])
  t.match(ahead.at(-1), { response: { output: [{ type: 'function_call', encrypted_content: /^gw1\.generate\./ }] } })
  t.match(
    fold(decodeAll(responses, frames)).candidates[0]?.parts,
    [{ type: 'call', seal }],
    'a gateway behind reads it',
  )
})

t.test('an answer that is not whole ends so, and its messages say it', async t => {
  const ended = (reason: 'length' | 'filter'): JsonObject | undefined =>
    documents(unfold(resultOf([], { candidates: [{ parts: [text('a')], end: { reason } }] }))).documents.at(-1)
  t.match(ended('length'), {
    type: 'response.incomplete',
    response: {
      ...{ status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } },
      output: [{ status: 'incomplete' }],
    },
  })
  t.match(ended('filter'), { response: { incomplete_details: { reason: 'content_filter' } } })
})

t.test('an error is reported in both forms, and then fails the response with what was done', async t => {
  const error = new GatewayError('upstream_failed', 'Boom.', { familyCode: 'boom', param: 'input' })
  const events = unfold(resultOf([text('a'), text('b')]))
  const at = events.findIndex(event => event.type === 'part-start' && event.index === 1)
  const { documents: sent } = documents([...events.slice(0, at + 1), { type: 'error', error }])
  const inner = { code: 'boom', message: 'Boom.', param: 'input' }
  t.match(sent.slice(-2), [
    { type: 'error', ...inner, error: { ...inner, type: 'server_error' } },
    {
      type: 'response.failed',
      response: { status: 'failed', error: { code: 'server_error', message: 'Boom.' }, output: [{ type: 'message' }] },
    },
  ])
  const last = sent.at(-1)?.response as { output: unknown[] } | undefined
  t.equal(last?.output.length, 1)
  const slow = new GatewayError('rate_limited', 'Slow.')
  const limited = documents([events[0] as TextEvent, { type: 'error', error: slow }]).documents
  t.match(limited.at(-1), { response: { error: { code: 'rate_limit_exceeded' } } })
  t.same(namesOf(documents([{ type: 'error', error }]).documents), ['error'], 'no response has begun')
})

t.test('what an answer cannot say is lost aloud, and once', async t => {
  const image: Part = { type: 'media', kind: 'image', source: { base64: 'AAAA' }, seal: { by: 'generate', value: 'x' } }
  const lost = (...parts: Part[]): readonly string[] => documents(unfold(resultOf(parts))).lost
  t.match(lost({ type: 'text', text: 'a', citations: [{ title: 'A book' }] }), [/^citations/])
  t.match(lost({ type: 'hosted', of: 'messages', value: {} }), [/^hosted/])
  t.match(lost({ type: 'media', kind: 'audio', source: { base64: 'AAAA' } }), [/^audio/])
  t.match(lost(image), [/^seals/])
  const second: TextEvent = { type: 'part-start', candidate: 1, index: 0, part: text('a') }
  t.match(documents([second]), { lost: [/^candidates/], documents: [] })
})

t.test('an answer whose usage came first', async t => {
  const { documents: sent } = documents([
    { type: 'start', id: 'a', model: '', usage: { input: 9, output: 1 } },
    { type: 'finish' },
  ])
  t.match(sent.at(-1), { response: { usage: { input_tokens: 9, output_tokens: 1 }, model: 'm' } })
})

t.test('nothing but an end is an empty answer', async t => {
  t.same(namesOf(documents([{ type: 'finish' }]).documents), ['created', 'in_progress', 'completed'])
})

t.test('parts that no one ended are done with the answer', async t => {
  const { documents: sent } = documents([
    { type: 'part-start', candidate: 0, index: 0, part: text('a') },
    { type: 'finish' },
  ])
  t.same(between(sent).at(-1), 'output_item.done')
  t.match(sent.at(-1), { response: { output: [{ content: [{ text: 'a' }] }] } })
})

t.test('text of any kind is one line of JSON', async t => {
  const words = '\u2028 \ud800 "\\\n\u0000 😔'
  const frames = encodeAll(responses, unfold(resultOf([text(words)])), answerTo(requestOf()))
  t.ok(frames.every(({ data }) => !/[\r\n]/.test(data)))
  t.match(fold(decodeAll(responses, frames)).candidates[0]?.parts, [{ text: words }])
})
