import t from 'tap'
import type { JsonObject } from '../../../src/core/json.js'
import type { MediaPart, Part, ReasoningWish, Tool, ToolChoice } from '../../../src/core/text.js'
import { assistant, call, encode, inputOf, text, user } from './support.js'

const ASK = user(text('Hello.'))

t.test('the least that is said: nothing is kept, so thoughts have to come sealed', async t => {
  t.same(encode({}).body, {
    model: 'upstream-model',
    input: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Hello.' }] }],
    store: false,
    include: ['reasoning.encrypted_content'],
  })
  t.match(encode({ store: true }).body, { store: true, include: undefined })
})

t.test('instructions are one text; those in the middle are messages of the developer', async t => {
  const system = ['One.', 'Two.'].map(text => ({ type: 'text' as const, text }))
  const { body } = encode({ system, turns: [ASK, { role: 'system', parts: [text('Three.')] }, ASK] })
  t.equal(body.instructions, 'One.\n\nTwo.')
  t.match(body.input, [
    { role: 'user' },
    { role: 'developer', content: [{ type: 'input_text', text: 'Three.' }] },
    { role: 'user' },
  ])
})

t.test('an answer goes back as items: adjacent texts are one message', async t => {
  t.same(
    inputOf(
      ASK,
      assistant(
        { type: 'reasoning', text: 'Hm.', summary: true, id: 'rs_1', seal: { by: 'responses', value: 'c2Vh' } },
        text('a'),
        { type: 'refusal', text: 'b' },
        call('call_1', 'clock', ''),
        { ...call('call_2', 'sql', 'SELECT 1'), custom: true, item: 'ctc_1' } as Part,
        { ...call('call_3'), item: 'toolu_1' } as Part,
        text('c'),
      ),
      ASK,
    ),
    [
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Hello.' }] },
      {
        ...{ type: 'reasoning', id: 'rs_1', encrypted_content: 'c2Vh' },
        summary: [{ type: 'summary_text', text: 'Hm.' }],
      },
      {
        type: 'message',
        role: 'assistant',
        content: [
          { type: 'output_text', text: 'a', annotations: [] },
          { type: 'refusal', refusal: 'b' },
        ],
      },
      { type: 'function_call', call_id: 'call_1', name: 'clock', arguments: '{}' },
      { type: 'custom_tool_call', id: 'ctc_1', call_id: 'call_2', name: 'sql', input: 'SELECT 1' },
      { type: 'function_call', call_id: 'call_3', name: 'clock', arguments: '{}' },
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'c', annotations: [] }] },
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Hello.' }] },
    ],
  )
})

t.test('results come before what the user says with them', async t => {
  const image: MediaPart = { type: 'media', kind: 'image', mime: 'image/png', source: { base64: 'AAAA' } }
  const words = { type: 'text', text: 'Noon.' } as const
  const { body, lost } = encode({
    turns: [
      ASK,
      assistant(call('c1'), call('c2'), call('c3'), { ...call('c4', 'sql', 'x'), custom: true } as Part),
      user(
        text('Well?'),
        { type: 'result', id: 'c1', parts: [words] },
        { type: 'result', id: 'c2', parts: [{ ...words, cache: {}, at: 'a' }, image], error: true, at: 'b' },
        { type: 'result', id: 'c3', parts: [] },
        { type: 'result', id: 'c4', parts: [words], custom: true },
      ),
    ],
  })
  t.same((body.input as JsonObject[]).slice(5), [
    { type: 'function_call_output', call_id: 'c1', output: 'Noon.' },
    {
      type: 'function_call_output',
      call_id: 'c2',
      output: [
        { type: 'input_text', text: 'Error: ' },
        { type: 'input_text', text: 'Noon.' },
        { type: 'input_image', image_url: 'data:image/png;base64,AAAA', detail: 'auto' },
      ],
    },
    { type: 'function_call_output', call_id: 'c3', output: '' },
    { type: 'custom_tool_call_output', call_id: 'c4', output: 'Noon.' },
    { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Well?' }] },
  ])
  t.same(lost, ['resultError b', 'cacheMarks a'])
})

t.test('media', async t => {
  const media = (part: Partial<MediaPart>): unknown => {
    const [message] = inputOf(user({ type: 'media', kind: 'document', source: { base64: 'AAAA' }, ...part })) as [
      { content: [unknown] },
    ]
    return message.content[0]
  }
  t.same(media({ kind: 'image', detail: 'high' }), {
    ...{ type: 'input_image', image_url: 'data:image/png;base64,AAAA', detail: 'high' },
  })
  t.same(media({ kind: 'image', detail: 'sharp', source: { url: 'https://a.example/b.png' } }), {
    ...{ type: 'input_image', image_url: 'https://a.example/b.png', detail: 'auto' },
  })
  t.same(media({ mime: 'text/plain' }), {
    ...{ type: 'input_file', filename: 'document.txt', file_data: 'data:text/plain;base64,AAAA' },
  })
  t.same(media({ name: 'a.pdf' }), {
    ...{ type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,AAAA' },
  })
  t.same(media({ source: { url: 'https://a.example/b.pdf' } }), {
    ...{ type: 'input_file', file_url: 'https://a.example/b.pdf' },
  })
  t.same(media({ source: { file: 'file-1', of: 'responses' } }), { type: 'input_file', file_id: 'file-1' })
  t.same(media({ name: 'notes', source: { text: 'Rain.' } }), { type: 'input_text', text: 'notes\n\nRain.' })
  for (const [kind, source] of [
    ['audio', { base64: 'AAAA' }],
    ['video', { base64: 'AAAA' }],
    ['audio', { url: 'https://a.example/b.mp3' }],
    ['document', { file: 'file-1', of: 'messages' }],
  ] as const)
    t.throws(() => media({ kind, source, at: 'here' }), { code: 'untranslatable', details: { param: 'here' } }, kind)
})

t.test('thoughts go back to the protocol that sealed them, and to no other', async t => {
  const lost = (part: Part): readonly string[] => encode({ turns: [ASK, assistant(part), ASK] }).lost
  t.same(lost({ type: 'reasoning', text: 'Hm.', at: 'a' }), ['reasoningParts a'])
  t.same(lost({ type: 'reasoning', text: '', seal: { by: 'messages', value: 'x' }, at: 'a' }), ['reasoningParts a'])
  t.same(lost({ ...call('c'), seal: { by: 'generate', value: 'x' }, at: 'a' } as Part), ['reasoningParts a'])
  t.same(lost({ type: 'reasoning', text: 'Hm.', id: 'rs_1' }), [], 'what the upstream keeps is known by its id')
})

t.test('items that this protocol alone knows go out as they are, others not at all', async t => {
  const value = { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search', query: 'rain' } }
  const hosted = (of: string): Part => ({ type: 'hosted', of, value, at: 'a' })
  t.match(inputOf(ASK, assistant(hosted('responses'), text('Rain.')), ASK), [{}, value, { role: 'assistant' }, {}])
  t.same(encode({ turns: [ASK, assistant(hosted('messages')), ASK] }).lost, ['hostedParts a'])
})

t.test('functions say whether they are strict, as no other protocol has that for a default', async t => {
  const tools: Tool[] = [
    { type: 'function', name: 'f', description: 'd', schema: { type: 'object' }, strict: true },
    { type: 'function', name: 'g' },
    { type: 'custom', name: 'c', format: { type: 'grammar', syntax: 'lark', definition: 'a' } },
    {
      type: 'hosted',
      kind: 'other',
      name: 'file_search',
      of: 'responses',
      value: { type: 'file_search', vector_store_ids: ['v'] },
    },
  ]
  t.same(encode({ tools }).body.tools, [
    { type: 'function', name: 'f', description: 'd', parameters: { type: 'object' }, strict: true },
    { type: 'function', name: 'g', parameters: null, strict: false },
    { type: 'custom', name: 'c', format: { type: 'grammar', syntax: 'lark', definition: 'a' } },
    { type: 'file_search', vector_store_ids: ['v'] },
  ])
  const memory: Tool = { type: 'hosted', kind: 'other', name: 'memory', of: 'messages', value: {}, at: 'tools[0]' }
  t.equal(encode({ tools: [memory] }).body.tools, undefined)
})

t.test('the choice of a tool', async t => {
  const tools: Tool[] = [
    { type: 'function', name: 'f' },
    { type: 'custom', name: 'c' },
    {
      type: 'hosted',
      kind: 'web_search',
      name: 'web_search_preview',
      of: 'responses',
      value: { type: 'web_search_preview' },
    },
  ]
  const choice = (toolChoice: ToolChoice): unknown => encode({ tools, toolChoice }).body.tool_choice
  t.equal(choice({ type: 'none' }), 'none')
  t.equal(choice({ type: 'required' }), 'required')
  t.same(choice({ type: 'tool', name: 'f' }), { type: 'function', name: 'f' })
  t.same(choice({ type: 'tool', name: 'c' }), { type: 'custom', name: 'c' })
  t.same(choice({ type: 'tool', name: 'web_search_preview' }), { type: 'web_search_preview' })
  t.same(choice({ type: 'subset', mode: 'required', names: ['f', 'c'] }), {
    type: 'allowed_tools',
    mode: 'required',
    tools: [
      { type: 'function', name: 'f' },
      { type: 'custom', name: 'c' },
    ],
  })
  t.same(encode({ toolChoice: { type: 'auto' } }).body.tool_choice, undefined, 'among no tools there is none')
})

t.test('the form of the answer is not strict unless that is said, and has a name that can be', async t => {
  const schema = { type: 'object' }
  t.same(encode({ format: { type: 'schema', schema, name: 'my answer!' }, verbosity: 'low' }).body.text, {
    format: { type: 'json_schema', name: 'my_answer_', schema, strict: false },
    verbosity: 'low',
  })
  t.match(encode({ format: { type: 'schema', schema, name: '' } }).body.text, { format: { name: 'answer' } })
  t.same(encode({ format: { type: 'json' } }).body.text, { format: { type: 'json_object' } })
})

t.test('how much to think, and what of it to show', async t => {
  const wish = (reasoning: ReasoningWish): unknown => encode({ reasoning }).body.reasoning
  t.same(wish({ effort: 'high' }), { effort: 'high', summary: 'auto' })
  t.same(wish({ effort: 'high', show: 'none' }), { effort: 'high' })
  t.same(wish({ effort: 'none' }), { effort: 'none' })
  t.same(wish({ show: 'detailed' }), { summary: 'detailed' })
  t.same(wish({ budget: 5000 }), { effort: 'medium', summary: 'auto' })
  t.same(encode({ reasoning: { budget: 5000 } }).lost, ['budget'])
  const none = encode({ reasoning: { effort: 'high' } }, { reasoning: 'none' })
  t.same([none.body.reasoning, none.lost], [undefined, ['effort']])
})

t.test('an end user whose name is too long is sent as a digest', async t => {
  const long = encode({ user: 'u'.repeat(150), safetyId: 's'.repeat(65) })
  t.match(long.body, { user: /^[0-9a-f]{64}$/, safety_identifier: /^[0-9a-f]{64}$/ })
  t.same(long.lost, ['user', 'safetyId'])
  const most = encode({ user: 'u'.repeat(64), safetyId: 's' })
  t.match(most, { body: { user: 'u'.repeat(64), safety_identifier: 's' }, lost: [] })
})

t.test('limits and sampling', async t => {
  const few = encode({ maxTokens: 5, temperature: 0, topP: 1, logprobs: 2 })
  t.match(few.body, { max_output_tokens: 16, temperature: 0, top_p: 1, top_logprobs: 2 })
  t.match(few.body.include, ['reasoning.encrypted_content', 'message.output_text.logprobs'])
  t.same(few.lost, ['maxTokens'])
  const none = encode({ temperature: 0.5, topP: 0.5 }, { sampling: false })
  t.same(none.lost, ['temperature', 'topP'])
  const lost = encode({ topK: 1, stop: ['a'], seed: 1, presencePenalty: 1, frequencyPenalty: 1, candidates: 2 }).lost
  t.same(lost, ['topK', 'stop', 'seed', 'presencePenalty', 'frequencyPenalty', 'candidates'])
  t.same(encode({ serviceTier: 'standard' }).body.service_tier, 'default')
  t.same(encode({ serviceTier: 'warp' }).lost, ['serviceTier'])
})
