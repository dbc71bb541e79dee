import t from 'tap'
import { chat } from '../../../src/codecs/chat/index.js'
import type { JsonObject } from '../../../src/core/json.js'
import type { TextRequest } from '../../../src/core/text.js'

const USER = { role: 'user', content: 'Hello.' }

function decode(body: JsonObject): TextRequest {
  return chat.server.decodeRequest({ messages: [USER], ...body }, { model: 'm', stream: body.stream === true })
}

function turnsOf(...messages: readonly JsonObject[]): TextRequest['turns'] {
  return decode({ messages }).turns
}

const WEATHER = { id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{"city":"Oslo"}' } }

t.test('leading system and developer messages are instructions, later ones turns', async t => {
  const { system, turns } = decode({
    messages: [
      { role: 'system', content: 'Be kind.' },
      { role: 'developer', content: [{ type: 'text', text: 'Be brief.' }] },
      USER,
      { role: 'system', content: 'Now be rude.', name: 'boss' },
    ],
  })
  t.same(
    system.map(({ text }) => text),
    ['Be kind.', 'Be brief.'],
  )
  t.match(turns, [
    { role: 'user', parts: [{ type: 'text', text: 'Hello.', at: 'messages[2].content' }], at: 'messages[2]' },
    { role: 'system', name: 'boss', parts: [{ text: 'Now be rude.' }] },
  ])
})

t.test('the name of an instruction before the first turn has no place', async t => {
  const { left } = decode({ messages: [{ role: 'system', content: 'a', name: 'boss' }, USER] })
  t.match(left, [{ field: 'messages[0].name' }])
})

t.test('parts of a user message', async t => {
  const [turn] = turnsOf({
    role: 'user',
    content: [
      { type: 'text', text: 'Look.' },
      { type: 'image_url', image_url: { url: 'data:image/PNG;base64,AAAA', detail: 'low' } },
      { type: 'image_url', image_url: { url: 'https://images.example/a.png' } },
      { type: 'image_url', image_url: 'https://images.example/b.png' },
      { type: 'input_audio', input_audio: { data: 'BBBB', format: 'mp3' } },
      { type: 'file', file: { file_data: 'data:application/pdf;base64,CCCC', filename: 'a.pdf' } },
      { type: 'file', file: { file_data: 'DDDD', filename: 'b.txt' } },
      { type: 'file', file: { file_data: 'EEEE' } },
      { type: 'file', file: { file_id: 'file-1' } },
      { type: 'video_url', video_url: { url: 'https://videos.example/a.mp4' } },
    ],
  })
  const at = (i: number): { at: string } => ({ at: `messages[0].content[${i}]` })
  const media = { type: 'media' as const }
  t.same(turn?.parts, [
    { type: 'text', text: 'Look.', ...at(0) },
    { ...media, kind: 'image', mime: 'image/png', source: { base64: 'AAAA' }, detail: 'low', ...at(1) },
    { ...media, kind: 'image', source: { url: 'https://images.example/a.png' }, ...at(2) },
    { ...media, kind: 'image', source: { url: 'https://images.example/b.png' }, ...at(3) },
    { ...media, kind: 'audio', mime: 'audio/mpeg', source: { base64: 'BBBB' }, ...at(4) },
    { ...media, kind: 'document', mime: 'application/pdf', source: { base64: 'CCCC' }, name: 'a.pdf', ...at(5) },
    { ...media, kind: 'document', mime: 'text/plain', source: { base64: 'DDDD' }, name: 'b.txt', ...at(6) },
    { ...media, kind: 'document', mime: 'application/pdf', source: { base64: 'EEEE' }, ...at(7) },
    { ...media, kind: 'document', source: { file: 'file-1', of: 'chat' }, ...at(8) },
    { ...media, kind: 'video', source: { url: 'https://videos.example/a.mp4' }, ...at(9) },
  ])
})

t.test('marks for caching, in both forms', async t => {
  const [turn] = turnsOf({
    role: 'user',
    content: [
      { type: 'text', text: 'a', prompt_cache_breakpoint: { mode: 'explicit' } },
      { type: 'text', text: 'b', cache_control: { type: 'ephemeral', ttl: '1h' } },
    ],
  })
  t.match(turn?.parts, [{ cache: {} }, { cache: { ttl: '1h' } }])
})

t.test('calls and results: neighbouring tool messages are one turn of the user', async t => {
  const turns = turnsOf(
    USER,
    {
      role: 'assistant',
      content: null,
      tool_calls: [WEATHER, { id: 'call_2', type: 'custom', custom: { name: 'shell', input: 'ls' } }],
    },
    { role: 'tool', tool_call_id: 'call_2', content: 'a.txt' },
    { role: 'tool', tool_call_id: 'call_1', content: [{ type: 'text', text: 'Rain.' }] },
    { role: 'user', content: 'And now?' },
  )
  t.match(
    turns.map(({ role }) => role),
    ['user', 'assistant', 'user', 'user'],
  )
  t.match(turns[1]?.parts, [
    { type: 'call', id: 'call_1', name: 'weather', arguments: '{"city":"Oslo"}' },
    { type: 'call', id: 'call_2', name: 'shell', arguments: 'ls', custom: true },
  ])
  t.match(turns[2]?.parts, [
    { type: 'result', id: 'call_2', custom: true, parts: [{ text: 'a.txt' }], at: 'messages[2]' },
    { type: 'result', id: 'call_1', parts: [{ text: 'Rain.' }], at: 'messages[3]' },
  ])
})

t.test('calls without an id and their results find each other by their order', async t => {
  const call = { id: '', type: 'function', function: { name: 'clock', arguments: {} } }
  const turns = turnsOf(
    USER,
    { role: 'assistant', tool_calls: [call, call] },
    { role: 'tool', content: 'one' },
    { role: 'tool', tool_call_id: '', content: 'two' },
  )
  const calls = turns[1]?.parts.map(part => (part.type === 'call' ? part.id : ''))
  t.match(calls, [/^gwcall_/, /^gwcall_/])
  t.not(calls?.[0], calls?.[1])
  t.same(
    turns[2]?.parts.map(part => (part.type === 'result' ? part.id : '')),
    calls,
  )
})

t.test('a result without a call is an error that names the message', async t => {
  const result = { role: 'tool', tool_call_id: 'call_9', content: 'a' }
  t.throws(() => turnsOf(USER, result), { code: 'invalid_parameter', details: { param: 'messages[1].tool_call_id' } })
})

t.test('the older form: functions, function_call, and messages of the function', async t => {
  const request = decode({
    functions: [{ name: 'clock', description: 'Tells the time.', parameters: { type: 'object' } }],
    function_call: { name: 'clock' },
    messages: [
      USER,
      { role: 'assistant', content: null, function_call: { name: 'clock', arguments: '{}' } },
      { role: 'function', name: 'clock', content: 'noon' },
    ],
  })
  t.match(request.tools, [{ type: 'function', name: 'clock', schema: { type: 'object' }, at: 'functions[0]' }])
  t.same(request.toolChoice, { type: 'tool', name: 'clock' })
  t.equal(request.parallelTools, false, 'such an answer holds one call')
  const [, assistant, result] = request.turns
  const [call] = assistant?.parts ?? []
  t.match(call, { type: 'call', name: 'clock', arguments: '{}' })
  t.match(result?.parts, [{ type: 'result', id: call?.type === 'call' ? call.id : '', name: 'clock' }])
})

t.test('an assistant message says all that it can', async t => {
  const [, turn] = turnsOf(USER, {
    role: 'assistant',
    content: [
      { type: 'thinking', thinking: [{ type: 'text', text: 'Hm.' }] },
      { type: 'text', text: 'No.' },
      { type: 'refusal', refusal: 'I may not.' },
    ],
    refusal: 'Never.',
    audio: { id: 'audio_1' },
    name: 'helper',
  })
  t.match(turn, { role: 'assistant', name: 'helper' })
  t.match(turn?.parts, [
    { type: 'reasoning', text: 'Hm.' },
    { type: 'text', text: 'No.' },
    { type: 'refusal', text: 'I may not.' },
    { type: 'refusal', text: 'Never.' },
    { type: 'media', kind: 'audio', source: { file: 'audio_1', of: 'chat' } },
  ])
})

t.test('thoughts in the history', async t => {
  const partsOf = (message: JsonObject): unknown => turnsOf(USER, { role: 'assistant', ...message })[1]?.parts
  t.match(partsOf({ reasoning_content: 'Hm.', content: 'a' }), [{ type: 'reasoning', text: 'Hm.' }, { type: 'text' }])
  t.match(partsOf({ reasoning: 'Hm.', content: 'a' }), [{ type: 'reasoning', text: 'Hm.' }, { type: 'text' }])
  t.match(
    partsOf({
      reasoning: 'Hm.',
      reasoning_details: [
        { type: 'reasoning.text', text: 'Hm.', signature: 'gw1.messages.c2ln' },
        { type: 'reasoning.encrypted', data: 'gw1.responses.ZW5j', id: 'rs_1', redacted: true },
        { type: 'reasoning.summary', summary: 'Short.' },
        { type: 'reasoning.text', text: 'Own.', signature: 'sig', format: 'theirs', index: 0 },
      ],
      content: 'a',
    }),
    [
      { type: 'reasoning', text: 'Hm.', seal: { by: 'messages', value: 'sig' } },
      { type: 'reasoning', text: '', id: 'rs_1', redacted: true, seal: { by: 'responses', value: 'enc' } },
      { type: 'reasoning', text: 'Short.', summary: true, seal: undefined },
      { type: 'reasoning', text: 'Own.', seal: { by: 'chat', value: /"format":"theirs"/ } },
      { type: 'text' },
    ],
  )
})

t.test('many pieces of one thought, and many results, take time that grows with their number', async t => {
  const reasoning_details = Array.from({ length: 60_000 }, (_, i) => ({ index: 0, text: 'a', [`a${i}`]: 1 }))
  const [, turn] = turnsOf(USER, { role: 'assistant', content: '', reasoning_details })
  const [thought] = turn?.parts ?? []
  t.equal(thought?.type === 'reasoning' && thought.text.length, 60_000)
  t.match(thought, { seal: { value: /^\{"index":0,"a0":1,.*,"a59999":1\}$/ } })
  const tool_calls = Array.from({ length: 60_000 }, (_, i) => ({ ...WEATHER, id: `call_${i}` }))
  const results = tool_calls.map(() => ({ role: 'tool', content: 'dry' }))
  const answered = turnsOf(USER, { role: 'assistant', tool_calls }, ...results)[2]?.parts
  t.equal(answered?.length, 60_000)
  t.match(answered?.at(-1), { type: 'result', id: 'call_59999' })
})

t.test('sealed calls come back in extra_content', async t => {
  const [, turn] = turnsOf(USER, {
    role: 'assistant',
    tool_calls: [
      { ...WEATHER, extra_content: { gateway: { seal: 'gw1.generate.c2ln' } } },
      { ...WEATHER, id: 'call_2', extra_content: { theirs: { signature: 'x' } } },
    ],
  })
  t.match(turn?.parts, [
    { seal: { by: 'generate', value: 'sig' } },
    { seal: { by: 'chat', value: '{"theirs":{"signature":"x"}}' } },
  ])
})

t.test('tools and the choice among them', async t => {
  const grammar = { definition: 'start: "a"', syntax: 'lark' }
  const tools = [
    { type: 'function', function: { name: 'weather', parameters: { type: 'object' }, strict: true } },
    { type: 'custom', custom: { name: 'shell', format: { type: 'grammar', grammar } } },
    { type: 'web_search' },
  ]
  const choose = (tool_choice: JsonObject | string): unknown => decode({ tools, tool_choice }).toolChoice
  t.match(decode({ tools }).tools, [
    { type: 'function', name: 'weather', strict: true, at: 'tools[0]' },
    { type: 'custom', name: 'shell', format: { type: 'grammar', ...grammar } },
    { type: 'hosted', kind: 'web_search', of: 'chat' },
  ])
  for (const word of ['auto', 'none', 'required']) t.same(choose(word), { type: word })
  t.same(choose({ type: 'function', function: { name: 'weather' } }), { type: 'tool', name: 'weather' })
  t.same(choose({ function: { name: 'weather' } }), { type: 'tool', name: 'weather' }, 'some leave the type out')
  t.same(choose({ custom: { name: 'shell' } }), { type: 'tool', name: 'shell' })
  t.same(choose({ type: 'custom', custom: { name: 'shell' } }), { type: 'tool', name: 'shell' })
  t.same(
    choose({
      type: 'allowed_tools',
      allowed_tools: { mode: 'required', tools: [{ type: 'function', function: { name: 'weather' } }] },
    }),
    { type: 'subset', mode: 'required', names: ['weather'] },
  )
  t.throws(() => choose('sometimes'), { code: 'invalid_parameter', details: { param: 'tool_choice' } })
})

t.test('web_search_options are a hosted tool', async t => {
  const options = { search_context_size: 'low' }
  t.match(decode({ web_search_options: options }).tools, [{ type: 'hosted', kind: 'web_search', value: options }])
})

t.test('limits, sampling and the rest', async t => {
  const request = decode({
    max_tokens: 5,
    max_completion_tokens: 7,
    temperature: 0.5,
    top_p: 0.9,
    stop: 'END',
    n: 2,
    logprobs: true,
    top_logprobs: 3,
    logit_bias: { 50256: -100 },
    response_format: { type: 'json_schema', json_schema: { name: 'a', schema: { type: 'object' }, strict: null } },
    stream: true,
    stream_options: { include_usage: true },
    reasoning_effort: 'high',
    verbosity: 'low',
    metadata: { a: 'b' },
    user: null,
  })
  t.match(request, {
    stream: true,
    streamUsage: true,
    maxTokens: 7,
    temperature: 0.5,
    topP: 0.9,
    stop: ['END'],
    candidates: 2,
    logprobs: 3,
    logitBias: { 50256: -100 },
    format: { type: 'schema', name: 'a', schema: { type: 'object' } },
    reasoning: { effort: 'high' },
    verbosity: 'low',
    metadata: { a: 'b' },
  })
  t.notOk('user' in request, 'null says nothing')
  t.match(request.left, [{ field: 'max_tokens' }], 'of the two limits one can stand')
})

t.test('thinking, as compatible clients ask for it', async t => {
  t.same(decode({ reasoning: { effort: 'low', exclude: true } }).reasoning, { effort: 'low', show: 'none' })
  t.same(decode({ reasoning: { enabled: true, max_tokens: 2000 } }).reasoning, { budget: 2000 })
  t.same(decode({ thinking: { type: 'disabled' } }).reasoning, { effort: 'none' })
  t.same(decode({ thinking: { type: 'enabled' } }).reasoning, { adaptive: true })
})

t.test('what no canonical field holds is left, and said', async t => {
  const { left } = decode({
    prediction: { type: 'content', content: 'a' },
    moderation: { model: 'a' },
    stream_options: { include_obfuscation: true },
    provider: { order: ['a'] },
    messages: [{ ...USER, mood: 'good', annotations: [] }],
    tools: [{ type: 'function', function: { name: 'a', cost: 3 } }],
    reasoning_effort: 'enormous',
    thinking: { type: 'disabled', clear: true },
    response_format: { type: 'text', grammar: 'a' },
  })
  t.same(left.map(({ field }) => field).sort(), [
    ...['messages[0].mood', 'moderation', 'prediction', 'provider', 'reasoning_effort'],
    ...['response_format.grammar', 'stream_options.include_obfuscation', 'thinking.clear', 'tools[0].function.cost'],
  ])
  t.ok(left.every(({ why }) => why !== ''))
})

t.test('what can mean nothing is an error that names the field', async t => {
  const cases: readonly (readonly [JsonObject, string])[] = [
    [{ messages: [] }, 'messages'],
    [{ messages: [{ content: 'a' }] }, 'messages[0].role'],
    [{ messages: [{ role: 'judge', content: 'a' }] }, 'messages[0].role'],
    [{ messages: [{ role: 'user', content: [{ type: 'smell' }] }] }, 'messages[0].content[0].type'],
    [{ messages: [{ role: 'user', content: 7 }] }, 'messages[0].content'],
    [{ messages: [{ role: 'system', content: [{ type: 'image_url', image_url: 'a' }] }] }, 'messages[0].content[0]'],
    [{ messages: [USER, { role: 'assistant', tool_calls: [{}] }] }, 'messages[1].tool_calls[0].function'],
    [{ temperature: 'hot' }, 'temperature'],
    [{ tools: [{ type: 'function' }] }, 'tools[0].function'],
    [{ response_format: { type: 'json_schema' } }, 'response_format.json_schema'],
    [{ metadata: { a: 1 } }, 'metadata.a'],
  ]
  for (const [body, param] of cases)
    t.throws(() => decode(body), { code: 'invalid_parameter', details: { param } }, param)
})
