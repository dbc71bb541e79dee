import t from 'tap'
import { decode, partsOf } from './support.js'

t.test('system is a string, or blocks of text with marks', async t => {
  t.strictSame(decode({ system: 'Be kind.' }).system, [{ type: 'text', text: 'Be kind.', at: 'system' }])
  t.strictSame(
    decode({ system: [{ type: 'text', text: 'Be kind.', cache_control: { type: 'ephemeral', ttl: '1h' } }] }).system,
    [{ type: 'text', text: 'Be kind.', at: 'system[0]', cache: { ttl: '1h' } }],
  )
})

t.test('instructions in the middle of a conversation are turns of their own', async t => {
  const { turns, left } = decode({
    messages: [
      { role: 'user', content: 'Hi.' },
      {
        role: 'system',
        content: [
          { type: 'text', text: 'Be brief.' },
          { type: 'tool_addition', tool: {} },
        ],
      },
    ],
  })
  t.match(turns[1], { role: 'system', at: 'messages[1]', parts: [{ text: 'Be brief.', at: 'messages[1].content[0]' }] })
  t.match(left, [{ field: 'messages[1].content[1]' }])
})

t.test('a content of one string is one part', async t => {
  t.strictSame(partsOf({ role: 'user', content: 'Hi.' }), [{ type: 'text', text: 'Hi.', at: 'messages[0].content' }])
})

t.test('images are bytes, URLs or files', async t => {
  const image = (source: object): object => ({ type: 'image', source })
  t.match(
    partsOf({
      role: 'user',
      content: [
        image({ type: 'base64', media_type: 'image/png', data: 'iVBO\nRw0K' }),
        image({ type: 'url', url: 'https://example.com/a.png' }),
        image({ type: 'file', file_id: 'file_1' }),
      ],
    } as never),
    [
      { kind: 'image', mime: 'image/png', source: { base64: 'iVBORw0K' } },
      { kind: 'image', source: { url: 'https://example.com/a.png' } },
      { kind: 'image', source: { file: 'file_1', of: 'messages' } },
    ],
  )
})

t.test('documents have a title, a context, and may want to be cited', async t => {
  t.strictSame(
    partsOf({
      role: 'user',
      content: [
        {
          type: 'document',
          source: { type: 'text', media_type: 'text/plain', data: 'All of it.' },
          title: 'Report',
          context: 'From last year',
          citations: { enabled: true },
          cache_control: { type: 'ephemeral' },
        },
      ],
    }),
    [
      {
        type: 'media',
        kind: 'document',
        mime: 'text/plain',
        source: { text: 'All of it.' },
        name: 'Report',
        context: 'From last year',
        cite: true,
        cache: {},
        at: 'messages[0].content[0]',
      },
    ],
  )
})

t.test('a document of blocks is its text, and its images behind it', async t => {
  const image = { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } }
  const content = [{ type: 'text', text: 'One.' }, image, { type: 'text', text: 'Two.' }]
  t.match(partsOf({ role: 'user', content: [{ type: 'document', source: { type: 'content', content } }] }), [
    { kind: 'document', source: { text: 'One.\n\nTwo.' } },
    { kind: 'image', at: 'messages[0].content[0].source.content[1]' },
  ])
})

t.test('a search result is a document about its source', async t => {
  const block = {
    type: 'search_result',
    source: 'https://example.com/',
    title: 'Example',
    content: [{ type: 'text', text: 'Words.' }],
    citations: { enabled: true },
  }
  t.match(partsOf({ role: 'user', content: [block] }), [
    { kind: 'document', source: { text: 'Words.' }, name: 'Example', context: 'https://example.com/', cite: true },
  ])
})

t.test('calls have their input as JSON text', async t => {
  t.strictSame(
    partsOf({ role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: 'f', input: { a: [1] } }] }),
    [{ type: 'call', id: 'toolu_1', name: 'f', arguments: '{"a":[1]}', at: 'messages[0].content[0]' }],
  )
})

t.test('results have texts and media, and may be errors', async t => {
  const image = { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } }
  t.match(
    partsOf({
      role: 'user',
      content: [
        { type: 'tool_result', tool_use_id: 'toolu_1', content: 'Noon.' },
        {
          type: 'tool_result',
          tool_use_id: 'toolu_2',
          content: [{ type: 'text', text: 'A map.' }, image],
          is_error: true,
        },
        { type: 'tool_result', tool_use_id: 'toolu_3' },
      ],
    }),
    [
      { type: 'result', id: 'toolu_1', parts: [{ text: 'Noon.' }] },
      { type: 'result', id: 'toolu_2', parts: [{ text: 'A map.' }, { kind: 'image' }], error: true },
      { type: 'result', id: 'toolu_3', parts: [] },
    ],
  )
})

t.test('thoughts keep what signs them', async t => {
  t.match(
    partsOf({
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'I look.', signature: 'c2ln' },
        { type: 'thinking', thinking: '', signature: 'aGlk' },
        { type: 'redacted_thinking', data: 'cmVk' },
        { type: 'thinking', thinking: 'Unsigned.', signature: '' },
        { type: 'thinking', thinking: '', signature: '' },
      ],
    }),
    [
      { type: 'reasoning', text: 'I look.', seal: { by: 'messages', value: 'c2ln' } },
      { type: 'reasoning', text: '', seal: { by: 'messages', value: 'aGlk' } },
      { type: 'reasoning', text: '', redacted: true, seal: { by: 'messages', value: 'cmVk' } },
      { type: 'reasoning', text: 'Unsigned.' },
    ],
  )
})

t.test('signatures of other protocols come back as theirs', async t => {
  const value = Buffer.from('enc').toString('base64url')
  t.match(
    partsOf({
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'I look.', signature: `gw1.responses.${value}` },
        { type: 'redacted_thinking', data: `gw1.generate.${value}` },
      ],
    }),
    [{ seal: { by: 'responses', value: 'enc' } }, { seal: { by: 'generate', value: 'enc' } }],
  )
})

t.test('blocks that no other protocol has are kept for this one', async t => {
  const block = { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'rain' } }
  t.match(partsOf({ role: 'assistant', content: [block] }), [{ type: 'hosted', of: 'messages', value: block }])
})

t.test('a mark on the whole request is one on its last part', async t => {
  const { turns } = decode({
    cache_control: { type: 'ephemeral', ttl: '5m' },
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'a' },
          { type: 'text', text: 'b' },
        ],
      },
      { role: 'assistant', content: [{ type: 'thinking', thinking: 't', signature: 's' }] },
    ],
  })
  t.strictSame(
    turns.flatMap(({ parts }) => parts.map(({ cache }) => cache)),
    [undefined, { ttl: '5m' }, undefined],
  )
})

t.test('tools are functions, or run at the upstream', async t => {
  const search = { type: 'web_search_20250305', name: 'web_search', max_uses: 3 }
  const { tools, left } = decode({
    tools: [
      { name: 'f', description: 'd', input_schema: { type: 'object' }, strict: true, defer_loading: true },
      search,
      { type: 'memory_20250818', name: 'memory' },
    ],
  })
  t.strictSame(tools, [
    { type: 'function', name: 'f', description: 'd', schema: { type: 'object' }, strict: true, at: 'tools[0]' },
    { type: 'hosted', kind: 'web_search', name: 'web_search_20250305', of: 'messages', value: search, at: 'tools[1]' },
    {
      type: 'hosted',
      kind: 'other',
      name: 'memory_20250818',
      of: 'messages',
      value: { type: 'memory_20250818', name: 'memory' },
      at: 'tools[2]',
    },
  ])
  t.match(left, [{ field: 'tools[0].defer_loading' }])
})

t.test('the choice of tools', async t => {
  const choice = (tool_choice: object): object => {
    const { toolChoice, parallelTools } = decode({ tool_choice } as never)
    return { toolChoice, parallelTools }
  }
  t.match(choice({ type: 'auto' }), { toolChoice: { type: 'auto' }, parallelTools: undefined })
  t.match(choice({ type: 'any' }), { toolChoice: { type: 'required' } })
  t.match(choice({ type: 'none' }), { toolChoice: { type: 'none' } })
  t.match(choice({ type: 'tool', name: 'f', disable_parallel_tool_use: true }), {
    toolChoice: { type: 'tool', name: 'f' },
    parallelTools: false,
  })
})

t.test('thinking: a budget, adaptive, none', async t => {
  const wish = (thinking: object, output_config = {}): unknown => decode({ thinking, output_config } as never).reasoning
  t.strictSame(wish({ type: 'enabled', budget_tokens: 2048 }), { budget: 2048, sealed: true })
  t.strictSame(wish({ type: 'adaptive', display: 'omitted' }), { adaptive: true, show: 'none', sealed: true })
  t.strictSame(wish({ type: 'adaptive', display: 'summarized' }, { effort: 'xhigh' }), {
    adaptive: true,
    show: 'auto',
    effort: 'xhigh',
    sealed: true,
  })
  t.strictSame(wish({ type: 'disabled' }), { effort: 'none' })
  t.equal(decode({}).reasoning, undefined)
})

t.test('effort without thinking is told to be left', async t => {
  const { reasoning, left } = decode({ thinking: { type: 'disabled' }, output_config: { effort: 'high' } })
  t.strictSame(reasoning, { effort: 'none' })
  t.match(left, [{ field: 'output_config.effort' }])
})

t.test('structured answers, by the new name and by the old', async t => {
  const format = { type: 'json_schema', schema: { type: 'object' } }
  t.strictSame(decode({ output_config: { format } }).format, { type: 'schema', schema: { type: 'object' } })
  t.strictSame(decode({ output_format: format }).format, { type: 'schema', schema: { type: 'object' } })
})

t.test('sampling, limits, the end user and the tier', async t => {
  t.match(
    decode({
      max_tokens: 7,
      temperature: 0.5,
      top_p: 0.9,
      top_k: 3,
      stop_sequences: ['END'],
      metadata: { user_id: 'u' },
      service_tier: 'standard_only',
    }),
    { maxTokens: 7, temperature: 0.5, topP: 0.9, topK: 3, stop: ['END'], user: 'u', serviceTier: 'default' },
  )
})

t.test('what has no place is named', async t => {
  const { left } = decode({
    container: 'c_1',
    brand_new: 1,
    metadata: { user_id: 'u', more: 1 },
    speed: null,
  })
  t.strictSame(left.map(({ field }) => field).sort(), ['brand_new', 'container', 'metadata.more'])
})

t.test('a malformed member is named', async t => {
  const cases: readonly (readonly [string, object])[] = [
    ['messages', { messages: 'x' }],
    ['messages[0]', { messages: [1] }],
    ['messages[0].role', { messages: [{ role: 'tool', content: '' }] }],
    ['messages[0].content', { messages: [{ role: 'user' }] }],
    ['messages[0].content[0].type', { messages: [{ role: 'user', content: [{}] }] }],
    ['messages[0].content[0].text', { messages: [{ role: 'user', content: [{ type: 'text' }] }] }],
    [
      'messages[0].content[0].source.type',
      { messages: [{ role: 'user', content: [{ type: 'image', source: { type: 'x' } }] }] },
    ],
    [
      'messages[0].content[0].input',
      { messages: [{ role: 'user', content: [{ type: 'tool_use', id: 'a', name: 'f', input: 1 }] }] },
    ],
    ['tools[0].name', { tools: [{}] }],
    ['tool_choice.type', { tool_choice: { type: 'maybe' } }],
    ['thinking.budget_tokens', { thinking: { type: 'enabled' } }],
    ['output_config.format.schema', { output_config: { format: { type: 'json_schema' } } }],
    ['temperature', { temperature: 'hot' }],
  ]
  for (const [param, body] of cases) {
    t.throws(() => decode(body as never), { code: 'invalid_parameter', details: { param } }, param)
  }
})
