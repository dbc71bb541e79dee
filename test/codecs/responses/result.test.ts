import t from 'tap'
import { responses } from '../../../src/codecs/responses/index.js'
import type { Json, JsonObject } from '../../../src/core/json.js'
import type { Part, TextResult } from '../../../src/core/text.js'
import { call, message, read, respond, response, resultOf, text } from './support.js'

const CALL = {
  type: 'function_call',
  id: 'fc_1',
  call_id: 'call_1',
  name: 'f',
  arguments: '{"a":1}',
  status: 'completed',
}

t.test('an answer is read: thoughts, texts, refusals, calls, and what this protocol alone knows', async t => {
  const search = { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search', query: 'rain' } }
  const result = read(
    [
      { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'Hm.' }], encrypted_content: 'c2Vh' },
      search,
      message('Rain.', {
        content: [
          {
            ...{ type: 'output_text', text: 'Rain.' },
            annotations: [
              { type: 'url_citation', url: 'https://a.example', title: 'A', start_index: 0, end_index: 4 },
              { type: 'file_citation', file_id: 'file-1', filename: 'a.txt', index: 3 },
            ],
            logprobs: [{ token: 'Rain.', logprob: -1, bytes: [82], top_logprobs: [{ token: 'Sun', logprob: -2 }] }],
          },
          { type: 'refusal', refusal: 'No.' },
        ],
      }),
      CALL,
      { type: 'custom_tool_call', id: 'ctc_1', call_id: 'call_2', name: 'sql', input: 'SELECT 1' },
      { type: 'image_generation_call', id: 'ig_1', status: 'completed', result: 'AAAA', output_format: 'webp' },
    ],
    {
      service_tier: 'flex',
      usage: {
        ...{ input_tokens: 9, output_tokens: 8, total_tokens: 17 },
        input_tokens_details: { cached_tokens: 3, cache_write_tokens: 2 },
        output_tokens_details: { reasoning_tokens: 4 },
      },
    },
  )
  const { parts = [] } = result.candidates[0] ?? {}
  t.match(parts, [
    { type: 'reasoning', text: 'Hm.', summary: true, id: 'rs_1', seal: { by: 'responses', value: 'c2Vh' } },
    { type: 'hosted', of: 'responses', value: search },
    {
      ...{ type: 'text', text: 'Rain.' },
      citations: [
        { url: 'https://a.example', title: 'A', start: 0, end: 4, own: { of: 'responses' } },
        { own: { of: 'responses', value: { file_id: 'file-1' } } },
      ],
      logprobs: [{ token: 'Rain.', logprob: -1, bytes: [82], top: [{ token: 'Sun', logprob: -2 }] }],
    },
    { type: 'refusal', text: 'No.' },
    { type: 'call', id: 'call_1', name: 'f', arguments: '{"a":1}', item: 'fc_1' },
    { type: 'call', id: 'call_2', name: 'sql', arguments: 'SELECT 1', custom: true, item: 'ctc_1' },
    { type: 'media', kind: 'image', mime: 'image/webp', source: { base64: 'AAAA' } },
  ])
  t.match(result, {
    ...{ id: 'resp_1', model: 'up', created: 7, serviceTier: 'flex' },
    usage: { input: 9, output: 8, cached: 3, cacheWrite: 2, reasoning: 4 },
  })
})

t.test('why an answer ended', async t => {
  const reason = (output: Json, more: JsonObject = {}): unknown => read(output, more).candidates[0]?.end.reason
  const cut = (reason: Json): JsonObject => ({ status: 'incomplete', incomplete_details: { reason } })
  t.equal(reason([message('a')]), 'stop')
  t.equal(reason([message('a'), CALL]), 'tool')
  t.equal(reason([message('', { content: [{ type: 'refusal', refusal: 'No.' }] })]), 'refusal')
  t.equal(reason([CALL], cut('max_output_tokens')), 'length')
  t.equal(reason([], cut('content_filter')), 'filter')
  t.equal(reason([], cut('who knows')), 'other')
  t.equal(reason([], { status: 'incomplete' }), 'length')
})

t.test('answers that are none', async t => {
  for (const [body, code] of [
    [null, 'bad_upstream_response'],
    [{ id: 'a' }, 'bad_upstream_response'],
    [response([{ type: 'function_call', call_id: 'c' }]), 'bad_upstream_response'],
    [response(Array.from({ length: 10_001 }, () => CALL)), 'bad_upstream_response'],
    [response([], { status: 'failed', error: { code: 'server_error', message: 'Boom.' } }), 'upstream_failed'],
    [response([], { status: 'cancelled' }), 'upstream_failed'],
    [response([], { status: 'in_progress' }), 'bad_upstream_response'],
    [response([], { status: 'queued' }), 'bad_upstream_response'],
    [response([], { status: 'failed', error: { code: 'rate_limit_exceeded', message: 'Slow.' } }), 'rate_limited'],
  ] as const)
    t.throws(() => responses.client.decodeResult(body), { name: 'GatewayError', code })
})

t.test('items nested too deep are refused before anyone writes them', async t => {
  let deep: Json = {}
  for (let i = 0; i < 50_000; i++) deep = [deep]
  t.throws(() => read([{ type: 'web_search_call', action: deep }]), { code: 'bad_upstream_response' })
  const annotations = [{ type: 'file_citation', deep }]
  const result = read([message('a', { content: [{ type: 'output_text', text: 'a', annotations }] })])
  t.same(result.candidates[0]?.parts, [text('a')], 'an annotation is left out')
})

t.test('a call without an id gets one that is the same each time, and that no other answer has', async t => {
  const output = [message('a'), { type: 'function_call', name: 'f', arguments: '' }]
  const id = (answer: string): unknown =>
    responses.client.decodeResult({ id: answer, status: 'completed', model: 'm', output }).candidates[0]?.parts[1]
  t.match(id('resp_1'), { id: /^gwcall_resp1_/ })
  t.same(id('resp_1'), id('resp_1'))
  t.notSame(id('resp_1'), id('resp_2'))
})

t.test('an answer is written: each part an item, the request repeated around them', async t => {
  const { body, lost } = respond(
    resultOf(
      [
        { type: 'reasoning', text: 'Hm.', seal: { by: 'responses', value: 'c2Vh' }, id: 'rs_7' },
        { type: 'text', text: 'Rain.', citations: [{ url: 'https://a.example' }] },
        call('call_1', 'f', ''),
        { ...call('call_2', 'sql', 'SELECT 1'), custom: true } as Part,
      ],
      { usage: { input: 3, output: 2, cacheWrite: 1 }, serviceTier: 'STANDARD' },
    ),
    {
      temperature: 0.5,
      reasoning: { effort: 'low' },
      text: { verbosity: 'low' },
      tools: [{ type: 'function', name: 'f' }],
      previous_response_id: 'resp_0',
    },
  )
  t.match(body, {
    ...{ id: /^resp_/, object: 'response', created_at: 7, status: 'completed', model: 'up', error: null },
    ...{ temperature: 0.5, previous_response_id: 'resp_0', service_tier: 'default', incomplete_details: null },
    reasoning: { effort: 'low', summary: null },
    text: { format: { type: 'text' }, verbosity: 'low' },
    tools: [{ type: 'function', name: 'f', parameters: null, strict: true }],
    output: [
      {
        ...{ type: 'reasoning', id: 'rs_7', encrypted_content: 'c2Vh' },
        summary: [{ type: 'summary_text', text: 'Hm.' }],
      },
      {
        ...{ type: 'message', id: /^msg_/, role: 'assistant', status: 'completed' },
        content: [{ annotations: [{ type: 'url_citation', start_index: 0, end_index: 5, url: 'https://a.example' }] }],
      },
      { type: 'function_call', id: /^fc_/, call_id: 'call_1', name: 'f', arguments: '{}', status: 'completed' },
      { type: 'custom_tool_call', id: /^ctc_/, call_id: 'call_2', name: 'sql', input: 'SELECT 1' },
    ],
    usage: {
      ...{ input_tokens: 3, output_tokens: 2, total_tokens: 5 },
      input_tokens_details: { cached_tokens: 0, cache_write_tokens: 1 },
      output_tokens_details: { reasoning_tokens: 0 },
    },
  })
  t.same(lost, [])
})

t.test('an answer that is not whole says so', async t => {
  const ended = (reason: TextResult['candidates'][0]['end']['reason']): JsonObject =>
    respond(resultOf([], { candidates: [{ parts: [text('a')], end: { reason } }] })).body
  const cut = (reason: string): unknown => ({
    ...{ status: 'incomplete', incomplete_details: { reason }, output: [{ status: 'incomplete' }], completed_at: null },
  })
  t.match(ended('length'), cut('max_output_tokens'))
  t.match(ended('context'), cut('max_output_tokens'))
  t.match(ended('filter'), cut('content_filter'))
  t.match(ended('stop'), { status: 'completed', incomplete_details: null })
  t.match(ended('refusal').output, [{}, { content: [{ type: 'refusal', refusal: '' }] }])
})

t.test('what an answer cannot say is lost aloud', async t => {
  const lost = (...parts: Part[]): string[] => respond(resultOf(parts)).lost.map(one => one.split(':', 1)[0] ?? '')
  t.same(lost({ type: 'text', text: 'a', citations: [{ title: 'A book' }] }), ['citations'])
  t.same(lost({ type: 'hosted', of: 'messages', value: {} }), ['hosted'])
  t.same(lost({ type: 'media', kind: 'audio', source: { base64: 'AAAA' } }), ['audio'])
  const image: Part = { type: 'media', kind: 'image', source: { base64: 'AAAA' } }
  t.same(lost({ ...image, seal: { by: 'generate', value: 'x' } }), ['seals'])
  t.same(lost(image), [])
  const several = resultOf([], {
    candidates: [
      { parts: [text('a')], end: { reason: 'pause' } },
      { parts: [text('b')], end: { reason: 'stop' } },
    ],
  })
  t.match(respond(several).lost, [/^candidates/, /^finish/])
})

t.test('seals of texts and calls are in their own items, and come back', async t => {
  const seal = { by: 'generate', value: 'x' }
  const parts = [{ ...text('a'), seal }, text('b'), { ...call('c'), seal }] as Part[]
  const { body } = respond(resultOf(parts))
  t.match(body.output, [
    { type: 'message', encrypted_content: /^gw1\.generate\./ },
    { type: 'message' },
    { type: 'function_call', encrypted_content: /^gw1\.generate\./ },
  ])
  t.equal((body.output as Json[]).length, 3)
  t.match(responses.client.decodeResult(body).candidates[0]?.parts, parts)
})

t.test('refusals of requests, in any form', async t => {
  const error = (body: Json): unknown => responses.client.decodeError(400, body)
  t.same(error({ error: { message: 'No.', param: 'input', code: 'context_length_exceeded' } }), {
    ...{ message: 'No.', param: 'input', code: 'context_length_exceeded' },
  })
  t.same(error({ detail: 'No.' }), { message: 'No.' })
  t.same(error(null), { message: undefined })
})
