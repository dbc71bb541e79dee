import t from 'tap'
import { messages } from '../../../src/codecs/messages/index.js'
import type { Json, JsonObject } from '../../../src/core/json.js'
import type { CallPart, End, Part, TextResult } from '../../../src/core/text.js'
import { openApi, openApiFolder } from '../../helpers/openapi.js'
import { answerTo, plain, requestOf } from '../support.js'
import { call, decode, text } from './support.js'

const isChecked = openApiFolder() !== undefined

function read(body: JsonObject): TextResult {
  return messages.client.decodeResult({ type: 'message', id: 'msg_1', model: 'up', content: [], ...body })
}

function write(
  parts: readonly Part[],
  end: End = { reason: 'stop' },
  more: Partial<TextResult> = {},
): { body: JsonObject; lost: string[] } {
  const answer = answerTo(requestOf({ model: 'asked' }))
  const result = { id: 'a', model: 'up', candidates: [{ parts, end }], ...more }
  const body = plain(messages.server.encodeResult(result, answer)) as JsonObject
  const faults = isChecked ? openApi('messages-beta.response')({ ...body, context_management: null }) : []
  if (faults.some(fault => !/iterations|speed/.test(fault))) throw new Error(`${faults} in ${JSON.stringify(body)}`)
  return { body, lost: answer.lost }
}

t.test('an answer of text, thoughts and calls', async t => {
  const { candidates, id, model } = read({
    content: [
      { type: 'thinking', thinking: 'I look.', signature: 'c2ln' },
      { type: 'redacted_thinking', data: 'cmVk' },
      { type: 'text', text: 'Rain.' },
      { type: 'tool_use', id: 'toolu_1', name: 'f', input: { a: 1 }, caller: { type: 'direct' } },
    ],
    stop_reason: 'tool_use',
  })
  t.strictSame([id, model], ['msg_1', 'up'])
  t.strictSame(candidates, [
    {
      parts: [
        { type: 'reasoning', text: 'I look.', seal: { by: 'messages', value: 'c2ln' } },
        { type: 'reasoning', text: '', redacted: true, seal: { by: 'messages', value: 'cmVk' } },
        { type: 'text', text: 'Rain.' },
        { type: 'call', id: 'toolu_1', name: 'f', arguments: '{"a":1}' },
      ],
      end: { reason: 'tool' },
    },
  ])
})

t.test('reasons of an end', async t => {
  const end = (body: JsonObject): End | undefined => read(body).candidates[0]?.end
  t.strictSame(end({ stop_reason: 'end_turn' }), { reason: 'stop' })
  t.strictSame(end({ stop_reason: 'stop_sequence', stop_sequence: 'END' }), { reason: 'stop', stopSequence: 'END' })
  t.strictSame(end({ stop_reason: 'max_tokens' }), { reason: 'length' })
  t.strictSame(end({ stop_reason: 'pause_turn' }), { reason: 'pause' })
  t.strictSame(end({ stop_reason: 'model_context_window_exceeded' }), { reason: 'context' })
  t.strictSame(end({ stop_reason: 'refusal', stop_details: { explanation: 'Not that.' } }), {
    reason: 'refusal',
    detail: 'Not that.',
  })
  t.strictSame(end({ stop_reason: 'brand_new' }), { reason: 'other', detail: 'brand_new' })
  t.strictSame(end({}), { reason: 'other' })
})

t.test('usage: what came from the cache and went into it is input, too', async t => {
  const usage = {
    input_tokens: 3,
    cache_read_input_tokens: 100,
    cache_creation_input_tokens: 20,
    output_tokens: 9,
    output_tokens_details: { thinking_tokens: 4 },
    service_tier: 'standard',
  }
  const { usage: counted, serviceTier } = read({ usage })
  t.strictSame(counted, { input: 123, output: 9, cached: 100, cacheWrite: 20, reasoning: 4 })
  t.equal(serviceTier, 'default')
  const { body } = write([], { reason: 'stop' }, { usage: counted!, serviceTier: 'default' })
  t.match(body.usage, usage)
})

t.test('counts that are none are not counted', async t => {
  t.strictSame(
    read({ usage: { input_tokens: -1, output_tokens: '7', cache_read_input_tokens: 1e300 } }).usage,
    undefined,
  )
  t.strictSame(read({ usage: null }).usage, undefined)
})

t.test('citations of the web have an address, those of documents do not', async t => {
  const web = {
    type: 'web_search_result_location',
    cited_text: 'Rain',
    encrypted_index: 'x',
    title: 'W',
    url: 'https://example.com/',
  }
  const page = {
    type: 'page_location',
    cited_text: 'Sun',
    document_index: 0,
    document_title: 'D',
    start_page_number: 1,
    end_page_number: 2,
  }
  const { candidates } = read({ content: [{ type: 'text', text: 'a', citations: [web, page] }] })
  t.match(candidates[0]?.parts, [
    {
      citations: [
        { url: 'https://example.com/', title: 'W', quote: 'Rain', own: { of: 'messages', value: web } },
        { title: 'D', quote: 'Sun', own: { of: 'messages', value: page } },
      ],
    },
  ])
})

t.test('blocks that no other protocol has are kept', async t => {
  const block = { type: 'compaction', content: 'All before.', encrypted_content: 'x' }
  t.strictSame(read({ content: [block] }).candidates[0]?.parts, [{ type: 'hosted', of: 'messages', value: block }])
})

t.test('a call without an id gets one that is its own', async t => {
  const block = { type: 'tool_use', name: 'f', input: {} }
  const [a, b] = read({ content: [block, block] }).candidates[0]!.parts as readonly CallPart[]
  t.match(a?.id, /^gwcall_/)
  t.not(a?.id, b?.id)
})

t.test('what is not a message is malformed, and an error is that error', async t => {
  for (const body of ['x', null, [], {}, { content: 'x' }, { content: [1] }] as Json[]) {
    t.throws(() => messages.client.decodeResult(body), { code: 'bad_upstream_response' }, JSON.stringify(body))
  }
  const error = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }
  t.throws(() => messages.client.decodeResult(error), { code: 'upstream_failed', status: 529, message: 'Overloaded' })
})

t.test('a message has all members of the protocol', async t => {
  const { body } = write([{ type: 'text', text: 'Rain.' }, call('c1', 'f', '')], { reason: 'tool' })
  t.strictSame(body, {
    id: 'a',
    type: 'message',
    role: 'assistant',
    model: 'up',
    content: [
      { type: 'text', text: 'Rain.' },
      { type: 'tool_use', id: 'c1', name: 'f', caller: { type: 'direct' }, input: {} },
    ],
    stop_reason: 'tool_use',
    stop_sequence: null,
    stop_details: null,
    container: null,
    usage: {
      input_tokens: 0,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 0,
      output_tokens: 0,
      cache_creation: null,
      server_tool_use: null,
      service_tier: null,
      inference_geo: null,
    },
  })
})

t.test('an upstream that tells neither id nor model: a new id, and the model that was asked', async t => {
  t.match(write([], { reason: 'stop' }, { id: '', model: '' }).body, { id: /^msg_/, model: 'asked' })
})

t.test('reasons of an end, as clients go by them', async t => {
  const word = (end: End, ...parts: Part[]): unknown => {
    const { stop_reason, stop_sequence } = write(parts, end).body
    return [stop_reason, stop_sequence]
  }
  t.strictSame(word({ reason: 'stop' }), ['end_turn', null])
  t.strictSame(word({ reason: 'stop', stopSequence: 'END' }), ['stop_sequence', 'END'])
  t.strictSame(word({ reason: 'stop' }, call('c1')), ['tool_use', null], 'calls have to be run')
  t.strictSame(word({ reason: 'length' }, call('c1')), ['max_tokens', null])
  t.strictSame(word({ reason: 'filter' }), ['refusal', null])
  t.strictSame(word({ reason: 'stop' }, { type: 'refusal', text: 'No.' }), ['refusal', null])
})

t.test('a refusal is text, and its explanation is beside it', async t => {
  const { body } = write([{ type: 'refusal', text: 'No.' }], { reason: 'refusal', detail: 'Not that.' })
  t.match(body.content, [{ type: 'text', text: 'No.' }])
  t.strictSame(body.stop_details, { type: 'refusal', category: null, explanation: 'Not that.' })
})

t.test('citations of other protocols are results of a web search, where they have an address', async t => {
  const citations = [{ url: 'https://example.com/', start: 0, end: 4 }, { title: 'A book' }]
  const { body, lost } = write([{ type: 'text', text: 'Rain.', citations }])
  t.match(body.content, [
    {
      citations: [{ type: 'web_search_result_location', url: 'https://example.com/', cited_text: 'Rain', title: null }],
    },
  ])
  t.match(lost, [/^citations/])
})

t.test('seals of other protocols go to the client, and come back to where they were', async t => {
  const seal = { by: 'generate', value: 'a+/=b' }
  const parts: Part[] = [
    { type: 'reasoning', text: 'I look.', seal: { by: 'responses', value: 'enc' } },
    { type: 'reasoning', text: '', redacted: true, seal: { by: 'responses', value: 'red' } },
    { ...text('Rain.'), seal },
    { ...call('c1'), seal },
    call('c2'),
    { ...text(''), seal },
  ]
  const { content } = write(parts, { reason: 'tool' }).body
  const [turn] = decode({ messages: [{ role: 'assistant', content }] as never }).turns
  t.strictSame(
    turn?.parts.map(({ at: _, ...part }) => part),
    parts,
  )
})

t.test('what answers cannot hold is named', async t => {
  const image: Part = { type: 'media', kind: 'image', mime: 'image/png', source: { base64: 'iVBO' } }
  const spoken: Part = { type: 'media', kind: 'audio', source: { base64: 'UklG' }, transcript: 'Hello.' }
  const trace: Part = { type: 'hosted', of: 'responses', value: { type: 'web_search_call' } }
  const { body, lost } = write([image, spoken, trace, call('c1', 'f', '[1]')])
  t.match(body.content, [
    { type: 'text', text: 'Hello.' },
    { type: 'tool_use', input: { _raw: '[1]' } },
  ])
  t.strictSame(
    lost.map(loss => loss.split(':')[0]),
    ['image', 'audio', 'hosted', 'input'],
  )
})

t.test('an end that has no word in the protocol is named', async t => {
  t.match(write([], { reason: 'malformed' }).lost, [/^stop_reason/])
  t.match(write([], { reason: 'other', detail: 'brand_new' }).lost, [/brand_new/])
  t.match(write([], { reason: 'other' }).lost, [/^stop_reason/])
})
