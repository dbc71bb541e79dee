import t from 'tap'
import type { JsonObject } from '../../../src/core/json.js'
import { decode, leftOf, turnsOf } from './support.js'

const USER = { role: 'user', content: 'Hello.' }
const CALL = { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'clock', arguments: '{"a":1}' }

t.test('input is a text, or items', async t => {
  t.same(decode({ input: 'Hello.' }).turns, [
    { role: 'user', parts: [{ type: 'text', text: 'Hello.', at: 'input' }], at: 'input' },
  ])
  t.same(turnsOf(USER), [
    { role: 'user', parts: [{ type: 'text', text: 'Hello.', at: 'input[0].content' }], at: 'input[0]' },
  ])
  t.same(decode({ input: null }).turns, [])
  for (const input of [1, {}, ['a'], [null]])
    t.throws(() => decode({ input }), { code: 'invalid_parameter', details: { param: /^input/ } })
})

t.test('instructions come before the instructions among the items', async t => {
  const { system, turns } = decode({
    instructions: 'One.',
    input: [
      { role: 'developer', content: 'Two.' },
      { role: 'system', content: [{ type: 'input_text', text: 'Three.' }] },
      USER,
      { role: 'developer', content: 'Four.' },
    ],
  })
  t.same(
    system.map(({ text }) => text),
    ['One.', 'Two.', 'Three.'],
  )
  t.match(turns, [{ role: 'user' }, { role: 'system', parts: [{ text: 'Four.' }] }])
})

t.test('instructions may be items of text, and errors name them so', async t => {
  const items = (...instructions: JsonObject[]): unknown => decode({ instructions }).system
  t.match(items({ role: 'developer', content: 'One.' }, USER), [
    { text: 'One.', at: 'instructions[0].content' },
    { text: 'Hello.', at: 'instructions[1].content' },
  ])
  const image = { role: 'user', content: [{ type: 'input_image', image_url: 'https://a.example/b.png' }] }
  t.throws(() => items(image), { code: 'invalid_parameter', details: { param: 'instructions[0].content[0]' } })
  t.throws(() => decode({ instructions: 1 }), { code: 'invalid_parameter', details: { param: 'instructions' } })
})

t.test('parts of a message of the user', async t => {
  const [turn] = turnsOf({
    type: 'message',
    role: 'user',
    content: [
      { type: 'input_text', text: 'Look.', prompt_cache_breakpoint: { mode: 'explicit' } },
      { type: 'input_image', image_url: 'data:image/PNG;base64,AAAA', detail: 'low' },
      { type: 'input_image', image_url: 'https://a.example/b.png', detail: 'auto' },
      { type: 'input_image', file_id: 'file-1', detail: 'high' },
      { type: 'input_file', file_data: 'data:text/plain;base64,BBBB', filename: 'a.txt' },
      { type: 'input_file', file_data: 'CCCC' },
      { type: 'input_file', file_url: 'https://a.example/b.pdf' },
      { type: 'input_file', file_id: 'file-2' },
      { type: 'input_audio', input_audio: { data: 'DDDD', format: 'mp3' } },
      { type: 'input_video', video_url: 'https://a.example/b.mp4' },
    ],
  })
  const at = (i: number): { at: string } => ({ at: `input[0].content[${i}]` })
  const media = { type: 'media' as const }
  t.same(turn?.parts, [
    { type: 'text', text: 'Look.', cache: {}, ...at(0) },
    { ...media, kind: 'image', mime: 'image/png', source: { base64: 'AAAA' }, detail: 'low', ...at(1) },
    { ...media, kind: 'image', source: { url: 'https://a.example/b.png' }, ...at(2) },
    { ...media, kind: 'image', source: { file: 'file-1', of: 'responses' }, detail: 'high', ...at(3) },
    { ...media, kind: 'document', mime: 'text/plain', source: { base64: 'BBBB' }, name: 'a.txt', ...at(4) },
    { ...media, kind: 'document', mime: 'application/pdf', source: { base64: 'CCCC' }, ...at(5) },
    { ...media, kind: 'document', source: { url: 'https://a.example/b.pdf' }, ...at(6) },
    { ...media, kind: 'document', source: { file: 'file-2', of: 'responses' }, ...at(7) },
    { ...media, kind: 'audio', mime: 'audio/mpeg', source: { base64: 'DDDD' }, ...at(8) },
    { ...media, kind: 'video', source: { url: 'https://a.example/b.mp4' }, ...at(9) },
  ])
})

t.test('parts that cannot be are named', async t => {
  const part = (part: JsonObject): unknown => turnsOf({ role: 'user', content: [part] })
  for (const [wrong, param] of [
    [{ type: 'input_text' }, 'input[0].content[0].text'],
    [{ type: 'input_image' }, 'input[0].content[0]'],
    [{ type: 'input_image', image_url: { url: 'a' } }, 'input[0].content[0].image_url'],
    [{ type: 'input_file' }, 'input[0].content[0]'],
    [{ type: 'image_url', image_url: 'a' }, 'input[0].content[0].type'],
    [{}, 'input[0].content[0].type'],
  ] as const)
    t.throws(() => part(wrong), { code: 'invalid_parameter', details: { param } }, JSON.stringify(wrong))
  t.throws(() => turnsOf({ role: 'tool', content: 'a' }), {
    code: 'invalid_parameter',
    details: { param: 'input[0].role' },
  })
  t.throws(() => turnsOf({ role: 'user' }), { code: 'invalid_parameter', details: { param: 'input[0].content' } })
})

t.test('thoughts, texts and calls of one answer are one turn of the assistant', async t => {
  const turns = turnsOf(
    USER,
    {
      type: 'reasoning',
      id: 'rs_1',
      summary: [
        { type: 'summary_text', text: 'One.' },
        { type: 'summary_text', text: 'Two.' },
      ],
      encrypted_content: 'c2Vh',
    },
    {
      type: 'message',
      role: 'assistant',
      id: 'msg_1',
      status: 'completed',
      phase: 'commentary',
      content: [
        { type: 'output_text', text: 'I look.', annotations: [], logprobs: [] },
        { type: 'refusal', refusal: 'No.' },
      ],
    },
    CALL,
    { type: 'custom_tool_call', call_id: 'call_2', name: 'sql', input: 'SELECT 1' },
    { type: 'function_call_output', call_id: 'call_1', output: 'Noon.' },
    { type: 'custom_tool_call_output', call_id: 'call_2', output: [{ type: 'input_text', text: '1' }] },
    USER,
  )
  t.same(
    turns.map(({ role }) => role),
    ['user', 'assistant', 'user', 'user'],
  )
  t.match(turns[1]?.parts, [
    { type: 'reasoning', text: 'One.\n\nTwo.', summary: true, id: 'rs_1', seal: { by: 'responses', value: 'c2Vh' } },
    { type: 'text', text: 'I look.' },
    { type: 'refusal', text: 'No.' },
    { type: 'call', id: 'call_1', name: 'clock', arguments: '{"a":1}', item: 'fc_1' },
    { type: 'call', id: 'call_2', name: 'sql', arguments: 'SELECT 1', custom: true },
  ])
  t.match(turns[2]?.parts, [
    { type: 'result', id: 'call_1', parts: [{ type: 'text', text: 'Noon.' }] },
    { type: 'result', id: 'call_2', parts: [{ type: 'text', text: '1' }], custom: true },
  ])
})

t.test('thoughts themselves count before their summary', async t => {
  const [turn] = turnsOf({
    type: 'reasoning',
    id: 'rs_1',
    summary: [{ type: 'summary_text', text: 'Short.' }],
    content: [{ type: 'reasoning_text', text: 'Long.' }],
  })
  t.same(turn?.parts, [{ type: 'reasoning', text: 'Long.', id: 'rs_1', at: 'input[0]' }])
})

t.test('a result holds text, images and files, and the name of its function where it is said', async t => {
  const [turn] = turnsOf({
    type: 'function_call_output',
    call_id: 'call_1',
    name: 'clock',
    output: [
      { type: 'input_text', text: 'A map.' },
      { type: 'input_image', image_url: 'data:image/png;base64,AAAA', detail: 'auto' },
    ],
  })
  t.match(turn?.parts, [
    {
      name: 'clock',
      parts: [
        { type: 'text', text: 'A map.' },
        { kind: 'image', source: { base64: 'AAAA' } },
      ],
    },
  ])
  const output = [{ type: 'refusal', refusal: 'No.' }]
  t.throws(() => turnsOf({ type: 'function_call_output', call_id: 'c', output }), {
    code: 'invalid_parameter',
    details: { param: 'input[0].output[0]' },
  })
  t.throws(() => turnsOf({ type: 'function_call_output', output: 'a' }), {
    code: 'invalid_parameter',
    details: { param: 'input[0].call_id' },
  })
})

t.test('items that this protocol alone knows stay as they are, on the side that they come from', async t => {
  const assistants = [
    ...['file_search_call', 'computer_call', 'web_search_call', 'tool_search_call', 'compaction', 'program'],
    ...['image_generation_call', 'code_interpreter_call', 'local_shell_call', 'shell_call', 'apply_patch_call'],
    ...['mcp_list_tools', 'mcp_approval_request', 'mcp_call'],
  ]
  const users = [
    ...['computer_call_output', 'local_shell_call_output', 'shell_call_output', 'apply_patch_call_output'],
    ...['mcp_approval_response', 'tool_search_output', 'program_output'],
  ]
  for (const [role, types] of [
    ['assistant', assistants],
    ['user', users],
  ] as const)
    for (const type of types) {
      const item = { type, id: 'x_1', whatever: [1] }
      t.match(turnsOf(item), [{ role, parts: [{ type: 'hosted', of: 'responses', value: item, at: 'input[0]' }] }])
    }
})

t.test('a reference that no one resolved is an error that names it', async t => {
  for (const item of [{ type: 'item_reference', id: 'msg_1' }, { type: null, id: 'msg_1' }, { id: 'msg_1' }])
    t.throws(() => turnsOf(USER, item), { code: 'invalid_parameter', details: { param: 'input[1].id' } })
})

t.test('seals of other protocols come back with their items', async t => {
  const sealed = (value: string): string => `gw1.generate.${Buffer.from(value).toString('base64url')}`
  const [turn] = turnsOf(
    { role: 'assistant', content: [{ type: 'output_text', text: 'a' }], encrypted_content: sealed('one') },
    { ...CALL, encrypted_content: sealed('two') },
    { ...CALL, call_id: 'call_2' },
  )
  t.match(turn?.parts, [
    { type: 'text', seal: { by: 'generate', value: 'one' } },
    { type: 'call', id: 'call_1', seal: { by: 'generate', value: 'two' } },
    { type: 'call', id: 'call_2', seal: undefined },
  ])
})

t.test('histories from before hold them in items of their own', async t => {
  const carrier = (id: string, value: string): JsonObject => ({
    ...{ type: 'reasoning', id, summary: [] },
    encrypted_content: `gw1.generate.${Buffer.from(value).toString('base64url')}`,
  })
  const [turn] = turnsOf(
    carrier('rs_ahead_1', 'one'),
    { role: 'assistant', content: [{ type: 'output_text', text: 'a' }] },
    CALL,
    carrier('rs_behind_1', 'two'),
    { ...CALL, call_id: 'call_2' },
  )
  t.match(turn?.parts, [
    { type: 'text', seal: { by: 'generate', value: 'one' } },
    { type: 'call', id: 'call_1', seal: { by: 'generate', value: 'two' } },
    { type: 'call', id: 'call_2', seal: undefined },
  ])
  t.same(turnsOf(carrier('rs_behind_2', 'nobody')), [], 'one that stands next to nothing is nothing')
})

t.test('many items of one turn are read in linear time (a copy of the turn for each would take minutes)', async t => {
  const input = Array.from({ length: 300_000 }, (_, i) => ({ ...CALL, call_id: `call_${i}` }))
  t.equal(decode({ input }).turns[0]?.parts.length, input.length)
})

t.test('settings', async t => {
  t.match(
    decode({
      parallel_tool_calls: false,
      max_output_tokens: 100,
      temperature: 0,
      top_p: 0.5,
      user: 'u',
      safety_identifier: 's',
      metadata: { a: 'b' },
      service_tier: 'flex',
      prompt_cache_key: 'k',
      prompt_cache_retention: '24h',
      store: false,
      stream: true,
      previous_response_id: 'resp_1',
      background: false,
      truncation: 'disabled',
    }),
    {
      parallelTools: false,
      maxTokens: 100,
      temperature: 0,
      topP: 0.5,
      user: 'u',
      safetyId: 's',
      metadata: { a: 'b' },
      serviceTier: 'flex',
      cacheKey: 'k',
      cacheRetention: '24h',
      store: false,
      left: [],
    },
  )
  for (const name of ['temperature', 'max_output_tokens', 'store', 'user', 'metadata', 'include', 'tools', 'text'])
    t.throws(() => decode({ [name]: name === 'user' ? 1 : 'x' }), {
      code: 'invalid_parameter',
      details: { param: name },
    })
})

t.test('log probabilities are asked for by their number, or by what shall be included', async t => {
  const logprobs = (body: JsonObject): number | undefined => decode(body).logprobs
  t.equal(logprobs({}), undefined)
  t.equal(logprobs({ top_logprobs: 0 }), undefined)
  t.equal(logprobs({ top_logprobs: 3 }), 3)
  t.equal(logprobs({ include: ['message.output_text.logprobs'] }), 0)
})

t.test('the form of the answer', async t => {
  const format = (format: JsonObject): unknown => decode({ text: { format } }).format
  t.equal(format({ type: 'text' }), undefined)
  t.same(format({ type: 'json_object' }), { type: 'json' })
  const schema = { type: 'object' }
  t.same(format({ type: 'json_schema', name: 'a', description: 'b', strict: true, schema }), {
    ...{ type: 'schema', name: 'a', description: 'b', strict: true, schema },
  })
  t.same(leftOf({ text: { format: { type: 'grammar' } } }), ['text.format.type'])
  t.same(leftOf({ text: { verbosity: 'loud', tone: 'low', format: { type: 'text', x: 1 } } }), [
    ...['text.verbosity', 'text.tone', 'text.format.x'],
  ])
  t.equal(decode({ text: { verbosity: 'low' } }).verbosity, 'low')
})

t.test('reasoning', async t => {
  const wish = (reasoning: JsonObject, include: string[] = []): unknown => decode({ reasoning, include }).reasoning
  t.equal(wish({}), undefined)
  t.same(wish({ effort: 'minimal', summary: 'detailed' }), { effort: 'minimal', show: 'detailed' })
  t.same(wish({ generate_summary: 'concise' }), { show: 'concise' })
  t.same(wish({ effort: null }, ['reasoning.encrypted_content']), { sealed: true })
  t.same(leftOf({ reasoning: { effort: 'huge', summary: 'never', mode: 'a', context: 'b', c: 1 } }), [
    ...['reasoning.effort', 'reasoning.mode', 'reasoning.context', 'reasoning.summary', 'reasoning.c'],
  ])
})

t.test('functions, tools of free text and tools at the upstream', async t => {
  const { tools } = decode({
    tools: [
      { type: 'function', name: 'f', description: 'd', parameters: { type: 'object' }, strict: false },
      { type: 'custom', name: 'c', description: 'd', format: { type: 'grammar', syntax: 'lark', definition: 'a' } },
      { type: 'custom', name: 't', format: { type: 'text' } },
      { type: 'web_search', search_context_size: 'low' },
      { type: 'web_search_preview' },
      { type: 'code_interpreter', container: { type: 'auto' } },
      { type: 'file_search', vector_store_ids: ['vs_1'] },
      { type: 'mcp', server_label: 'a', server_url: 'https://a.example' },
    ],
  })
  t.same(tools.slice(0, 4), [
    {
      ...{ type: 'function', name: 'f', description: 'd', schema: { type: 'object' }, strict: false },
      at: 'tools[0]',
    },
    {
      ...{ type: 'custom', name: 'c', description: 'd', at: 'tools[1]' },
      format: { type: 'grammar', syntax: 'lark', definition: 'a' },
    },
    { type: 'custom', name: 't', at: 'tools[2]' },
    {
      ...{ type: 'hosted', kind: 'web_search', name: 'web_search', of: 'responses', at: 'tools[3]' },
      value: { type: 'web_search', search_context_size: 'low' },
    },
  ])
  t.same(
    tools.slice(4).map(tool => tool.type === 'hosted' && tool.kind),
    ['web_search', 'code_execution', 'other', 'other'],
  )
  t.throws(() => decode({ tools: [{ name: 'f' }] }), { code: 'invalid_parameter', details: { param: 'tools[0].type' } })
  t.throws(() => decode({ tools: [{ type: 'function' }] }), {
    code: 'invalid_parameter',
    details: { param: 'tools[0].name' },
  })
})

t.test('arguments are strict by default where the schema allows it', async t => {
  const strict = (parameters: JsonObject | null, more: JsonObject = {}): unknown => {
    const [tool] = decode({ tools: [{ type: 'function', name: 'f', parameters, ...more }] }).tools
    return tool?.type === 'function' ? tool.strict : tool
  }
  const closed = (more: JsonObject = {}): JsonObject => ({
    ...{ type: 'object', properties: { a: { type: 'string' } }, required: ['a'], additionalProperties: false },
    ...more,
  })
  t.equal(strict(closed()), true)
  t.equal(strict(closed(), { strict: false }), false)
  t.equal(strict(closed({ required: [] })), undefined)
  t.equal(strict(closed({ additionalProperties: true })), undefined)
  const nested = { a: { type: 'array', items: closed({ required: [] }) } }
  t.equal(strict(closed({ properties: nested })), undefined)
  t.equal(strict({ type: 'object' }), undefined)
  t.equal(strict(null), undefined)
})

t.test('the choice of a tool, in all its forms', async t => {
  const choice = (tool_choice: string | JsonObject): unknown => decode({ tool_choice }).toolChoice
  for (const type of ['auto', 'none', 'required']) t.same(choice(type), { type })
  t.same(choice({ type: 'function', name: 'f' }), { type: 'tool', name: 'f' })
  t.same(choice({ type: 'custom', name: 'c' }), { type: 'tool', name: 'c' })
  t.same(choice({ type: 'web_search_preview' }), { type: 'tool', name: 'web_search_preview' })
  t.same(choice({ type: 'mcp', server_label: 'a', name: 'b' }), { type: 'tool', name: 'mcp' })
  const tools = [{ type: 'function', name: 'f' }, { type: 'image_generation' }]
  t.same(choice({ type: 'allowed_tools', mode: 'required', tools }), {
    ...{ type: 'subset', mode: 'required', names: ['f', 'image_generation'] },
  })
  t.same(choice({ type: 'allowed_tools', mode: 'auto', tools: [] }), { type: 'subset', mode: 'auto', names: [] })
  for (const wrong of ['any', {}, { type: 'function' }]) t.throws(() => choice(wrong), { code: 'invalid_parameter' })
})

t.test('what is at one upstream of this protocol is a file of it', async t => {
  const parts = (body: JsonObject): unknown => decode(body).turns.flatMap(turn => turn.parts)
  const file = (file: string, at: string): JsonObject => ({ source: { file, of: 'responses' }, at })
  t.match(parts({ prompt: { id: 'p_1' } }), [file('p_1', 'prompt'), { text: 'Hello.' }])
})

t.test('what no other protocol knows is named', async t => {
  t.same(
    leftOf({
      truncation: 'auto',
      max_tool_calls: 3,
      context_management: [{ type: 'compaction' }],
      include: ['web_search_call.results', 'reasoning.encrypted_content'],
      stream_options: { include_obfuscation: true, x: 1 },
      whatever: 1,
    }),
    [
      ...['truncation', 'max_tool_calls', 'context_management', 'whatever'],
      ...['include:web_search_call.results', 'stream_options.include_obfuscation', 'stream_options.x'],
    ],
  )
})

t.test('members of items and tools that nothing holds are named', async t => {
  t.same(
    leftOf({
      input: [
        { role: 'user', content: [{ type: 'input_text', text: 'a', x: 1 }], y: 1 },
        { ...CALL, status: 'completed', namespace: 'n', caller: { type: 'direct' } },
        { type: 'function_call_output', call_id: 'call_1', output: 'a', z: 1 },
        { type: 'reasoning', id: 'rs_1', summary: [], w: 1 },
      ],
      tools: [{ type: 'function', name: 'f', defer_loading: true }],
    }),
    [
      ...['tools[0].defer_loading', 'input[0].y', 'input[0].content[0].x', 'input[1].caller', 'input[2].z'],
      'input[3].w',
    ],
  )
})
