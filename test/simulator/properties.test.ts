import t, { type Test } from 'tap'
import type { Simulator } from '../../simulator/src/index.js'
import { seal } from '../../simulator/src/seals.js'
import { fc } from '../helpers/property.js'
import { CHAT, dataOf, exchange, post, simulator } from './support.js'

const RUNS = { numRuns: 60 }

const GENERATE = '/v1beta/models/sim-generate:generateContent'

const text = fc.string({ unit: 'grapheme', maxLength: 60 })
const limit = fc.option(fc.integer({ min: 16, max: 80 }), { nil: undefined })
const effort = fc.constantFrom(undefined, 'none', 'low')

const chatRequest = fc.record({
  path: fc.constant(CHAT),
  body: fc.record({
    model: fc.constant('sim-text'),
    messages: fc.array(fc.record({ role: fc.constantFrom('system', 'user'), content: text }), {
      minLength: 1,
      maxLength: 3,
    }),
    n: fc.constantFrom(undefined, 1, 3),
    max_completion_tokens: limit,
    stop: fc.constantFrom(undefined, 'simulator', ['is', '.']),
    reasoning_effort: effort,
    logprobs: fc.constantFrom(undefined, true),
    tools: fc.constantFrom(undefined, [{ type: 'function', function: { name: 'f', parameters: { type: 'object' } } }]),
    tool_choice: fc.constantFrom(undefined, 'none'),
  }),
})

const completionRequest = fc.record({
  path: fc.constant('/v1/completions'),
  body: fc.record({
    model: fc.constant('sim-text'),
    prompt: fc.oneof(text, fc.array(text, { minLength: 1, maxLength: 3 })),
    n: fc.constantFrom(undefined, 1, 2),
    max_tokens: limit,
    echo: fc.boolean(),
  }),
})

const responsesRequest = fc.record({
  path: fc.constant('/v1/responses'),
  body: fc.record({
    model: fc.constant('sim-text'),
    input: text,
    max_output_tokens: limit,
    reasoning: fc.constantFrom(undefined, { effort: 'low', summary: 'auto' }),
    tools: fc.constantFrom(undefined, [{ type: 'function', name: 'f', parameters: { type: 'object' } }]),
    tool_choice: fc.constantFrom(undefined, 'auto'),
  }),
})

const messagesRequest = fc.record({
  path: fc.constant('/v1/messages'),
  body: fc.record({
    model: fc.constant('sim-messages'),
    max_tokens: fc.constantFrom(2000, 1100, 40),
    messages: fc.tuple(text.map(content => ({ role: 'user', content: `${content}.` }))),
    system: fc.constantFrom(undefined, 'Be brief.', [
      { type: 'text', text: 'x', cache_control: { type: 'ephemeral' } },
    ]),
    thinking: fc.constantFrom(undefined, { type: 'adaptive' }, { type: 'adaptive', display: 'omitted' }),
    stop_sequences: fc.constantFrom(undefined, ['simulator'], ['is', '.']),
    tools: fc.constantFrom(undefined, [{ name: 'f', input_schema: { type: 'object' } }]),
  }),
})

const generateRequest = fc.record({
  path: fc.constant(GENERATE),
  body: fc.record({
    contents: fc.tuple(text.map(said => ({ role: 'user', parts: [{ text: said }] }))),
    generationConfig: fc.record({
      maxOutputTokens: limit,
      candidateCount: fc.constantFrom(undefined, 1, 3),
      stopSequences: fc.constantFrom(undefined, ['simulator'], ['is', '.']),
      thinkingConfig: fc.constantFrom(undefined, { includeThoughts: true, thinkingBudget: 100 }, { thinkingBudget: 0 }),
    }),
    tools: fc.constantFrom(undefined, [{ functionDeclarations: [{ name: 'f' }] }]),
  }),
})

type Ask = { readonly path: string; readonly body: object }

t.test('property: the same request gets the same bytes, headers and all, streamed or not', async t => {
  const upstream = await simulator(t)
  const other = await simulator(t)
  await fc.assert(
    fc.asyncProperty(
      fc.oneof(chatRequest, completionRequest, responsesRequest, messagesRequest, generateRequest),
      fc.constantFrom('', 'sse', 'array'),
      async ({ path, body }, stream) => {
        const answers = await Promise.all(
          [upstream, upstream, other].map(each => post(each, ...streamed(path, body, stream))),
        )
        const [first] = answers
        for (const answer of answers) {
          if (answer.status !== 200 || !answer.body.equals(first!.body)) return false
          if (answer.rawHeaders.join('\n') !== first!.rawHeaders.join('\n')) return false
        }
        return true
      },
    ),
    RUNS,
  )
  noProblem(t, upstream)
})

t.test('property: a stream, folded, is the whole answer, with the same usage', async t => {
  const upstream = await simulator(t)
  const folded = async (
    { path, body }: Ask,
    fold: (text: string) => unknown,
    whole: (json: Json) => unknown,
    more = {},
  ) => {
    const plain = JSON.parse((await post(upstream, path, body)).text)
    const stream = await post(upstream, ...streamed(path, { ...body, ...more }, 'sse'))
    t.same(fold(stream.text.replaceAll('\r', '')), whole(plain))
  }
  const usage = { stream_options: { include_usage: true } }
  await fc.assert(
    fc.asyncProperty(chatRequest, ask => folded(ask, foldChat, wholeChat, usage)),
    RUNS,
  )
  await fc.assert(
    fc.asyncProperty(completionRequest, ask => folded(ask, foldCompletion, wholeCompletion, usage)),
    RUNS,
  )
  await fc.assert(
    fc.asyncProperty(responsesRequest, ask => folded(ask, foldResponse, wholeResponse)),
    RUNS,
  )
  await fc.assert(
    fc.asyncProperty(messagesRequest, ask => folded(ask, foldMessage, wholeMessage)),
    RUNS,
  )
  await fc.assert(
    fc.asyncProperty(generateRequest, ask => folded(ask, foldGenerated, wholeGenerated)),
    RUNS,
  )
})

const EMPTY: readonly object[] = [
  { model: 'sim-messages', max_tokens: 9, messages: [{ role: 'user', content: [{ type: 'text', text: 'f' }] }] },
  { model: undefined, contents: [{ parts: [{ text: 'f' }] }] },
  { model: undefined, content: { parts: [{ text: 'f' }] } },
]

t.test('property: any JSON is answered, and nothing breaks inside', async t => {
  const upstream = await simulator(t)
  const paths = fc.constantFrom(
    ...[CHAT, '/v1/completions', '/v1/embeddings', '/v1/moderations', '/v1/responses', '/v1/responses/compact'],
    ...['/v1/rerank', '/v2/rerank', '/v1/images/generations', '/v1/audio/speech'],
    ...['/v1/responses/input_tokens', '/v1/messages', '/v1/messages/count_tokens', GENERATE],
    ...['streamGenerateContent', 'countTokens', 'embedContent', 'batchEmbedContents'].map(method =>
      GENERATE.replace('generateContent', method),
    ),
  )
  const odd = fc.oneof(
    fc.jsonValue({ maxDepth: 3 }),
    fc.constantFrom({}, [], [{}], [[]], '', 'sim-text', null, -1, 1e300, '__proto__'),
  )
  const names = fc.constantFrom(
    ...['messages', 'input', 'prompt', 'tools', 'tool_choice', 'functions', 'function_call', 'response_format', 'text'],
    ...['stream', 'n', 'stop', 'max_tokens', 'reasoning', 'include', 'dimensions', 'encoding_format', 'stream_options'],
    ...[
      'instructions',
      'previous_response_id',
      'logprobs',
      'top_logprobs',
      'echo',
      'modalities',
      '__proto__',
      'metadata',
    ],
    ...['system', 'thinking', 'output_config', 'cache_control', 'stop_sequences', 'tool_config', 'generationConfig'],
    ...['size', 'quality', 'background', 'partial_images', 'voice', 'speed', 'stream_format'],
    ...['contents', 'system_instruction', 'content', 'requests', 'generate_content_request', 'toolConfig'],
  )
  const more = fc.dictionary(names, odd, { maxKeys: 6 })
  const base: fc.Arbitrary<object> = fc.constantFrom<object>(
    {},
    { messages: [{ role: 'user', content: 'f' }] },
    { input: 'f' },
    { prompt: ['f'] },
    { prompt: 'f', size: '64x64' },
    { input: 'f', voice: 'alloy' },
    ...EMPTY,
  )
  await fc.assert(
    fc.asyncProperty(paths, base, more, async (path, base, more) => {
      const { status } = await post(upstream, path, { model: 'sim-text', ...base, ...more })
      return status === 200 || (status >= 400 && status < 500)
    }),
    { numRuns: 400 },
  )
  noProblem(t, upstream)
})

const RICH: readonly (readonly [path: string, body: object])[] = [
  [
    CHAT,
    {
      messages: [
        { role: 'user', content: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AA' } }] },
        { role: 'assistant', content: null, tool_calls: [{ id: 'a', function: { name: 'f', arguments: '{}' } }] },
        { role: 'tool', tool_call_id: 'a', content: [{ type: 'text', text: 'x' }] },
      ],
      tools: [{ type: 'function', function: { name: 'f', parameters: { type: 'object', properties: { a: {} } } } }],
      tool_choice: { type: 'function', function: { name: 'f' } },
      response_format: { type: 'json_schema', json_schema: { name: 'a', schema: { anyOf: [{ type: 'string' }] } } },
    },
  ],
  [
    '/v1/responses',
    {
      instructions: 'x',
      input: [
        { role: 'user', content: [{ type: 'input_file', file_data: 'x', filename: 'a' }] },
        { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: seal('responses.reasoning', '') },
        { type: 'function_call', call_id: 'a', name: 'f', arguments: '{}' },
        { type: 'function_call_output', call_id: 'a', output: [{ type: 'input_text', text: 'x' }] },
        { type: 'compaction', encrypted_content: seal('responses.compaction', '') },
      ],
      include: ['reasoning.encrypted_content'],
      reasoning: { effort: 'low', summary: 'auto' },
      tools: [{ type: 'function', name: 'f', parameters: {}, strict: true }],
    },
  ],
  [
    '/v1/messages',
    {
      max_tokens: 2000,
      system: [{ type: 'text', text: 'x', cache_control: { type: 'ephemeral', ttl: '1h' } }],
      messages: [
        {
          role: 'user',
          content: [
            { type: 'document', source: { type: 'content', content: [{ type: 'text', text: 'x' }] }, citations: {} },
            { type: 'search_result', source: 'a', title: 'b', content: [{ type: 'text', text: 'x' }] },
            { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } },
          ],
        },
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'x', signature: seal('messages.thinking', 'x') },
            { type: 'tool_use', id: 'a', name: 'f', input: { x: 1 } },
          ],
        },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content: [], is_error: true }] },
      ],
      thinking: { type: 'enabled', budget_tokens: 1024, display: 'omitted' },
      tools: [{ name: 'f', input_schema: { type: 'object', properties: { a: {} } } }],
      tool_choice: { type: 'auto', disable_parallel_tool_use: true },
      output_config: { format: { type: 'json_schema', schema: { type: 'object', additionalProperties: false } } },
    },
  ],
  [
    GENERATE,
    {
      model: undefined,
      systemInstruction: { parts: [{ text: 'x' }] },
      contents: [
        { role: 'user', parts: [{ inlineData: { mimeType: 'image/png', data: 'AAAA' } }, { text: 'f' }] },
        {
          role: 'model',
          parts: [
            {
              functionCall: { id: 'a', name: 'f', args: { x: 1 } },
              thoughtSignature: 'skip_thought_signature_validator',
            },
          ],
        },
        { role: 'user', parts: [{ functionResponse: { id: 'a', name: 'f', response: { x: 1 }, parts: [] } }] },
      ],
      tools: [{ functionDeclarations: [{ name: 'f', parameters: { type: 'OBJECT', properties: { a: {} } } }] }],
      toolConfig: { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['f'] } },
      generationConfig: {
        responseMimeType: 'application/json',
        responseSchema: { type: 'OBJECT', properties: { a: { type: 'STRING', nullable: true } }, anyOf: [{}] },
        thinkingConfig: { thinkingBudget: 100, includeThoughts: true },
        stopSequences: ['x'],
        candidateCount: 2,
      },
    },
  ],
]

t.test(
  'property: a sound request with one member spoiled is answered or refused, and nothing breaks inside',
  async t => {
    const upstream = await simulator(t)
    const odd = fc.constantFrom(
      ...[null, 0, -1, 1e300, '', 'x', '__proto__', true, [], {}, [{}], { type: 'x' }, [[]], ['x']],
    )
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...RICH), fc.nat(), odd, fc.boolean(), async ([path, body], at, value, gone) => {
        const places = placesIn(body)
        const spoiled = replaced(body, places[at % places.length] ?? [], gone ? undefined : value)
        const { status, text } = await post(upstream, path, { model: 'sim-text', ...(spoiled as object) })
        if (status >= 500) t.fail(text)
        return status < 500
      }),
      { numRuns: 1500 },
    )
    noProblem(t, upstream)
  },
)

type Place = readonly (string | number)[]

/** The paths of all members of a document. */
function placesIn(value: unknown, place: Place = []): readonly Place[] {
  if (typeof value !== 'object' || value === null) return [place]
  const within = Object.entries(value).flatMap(([name, member]) => placesIn(member, [...place, name]))
  return place.length === 0 ? within : [place, ...within]
}

function replaced(value: Json, [name, ...rest]: Place, by: unknown): unknown {
  if (name === undefined) return by
  if (Array.isArray(value)) return value.map((each, at) => (String(at) === name ? replaced(each, rest, by) : each))
  return { ...value, [name]: replaced(value[name], rest, by) }
}

t.test('property: the simulator survives any bytes', async t => {
  const upstream = await simulator(t)
  const body = fc.oneof(
    fc.uint8Array({ maxLength: 60 }).map(bytes => Buffer.from(bytes).toString('latin1')),
    fc.constantFrom(
      '',
      '{',
      'null',
      '[]',
      '"',
      '{"model":',
      '{"a":"\\',
      '\ud800',
      '{"model":"sim-text","messages":[{}',
      '\0',
    ),
  )
  await fc.assert(
    fc.asyncProperty(body, fc.string({ unit: 'binary-ascii', maxLength: 20 }), async (body, path) => {
      t.match((await post(upstream, CHAT, body)).status, 400)
      await exchange(upstream, `POST /${path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 2\r\n\r\n{}`)
    }),
    { numRuns: 100 },
  )
  t.equal((await post(upstream, CHAT, { model: 'sim-text', messages: [{ role: 'user', content: 'Hi' }] })).status, 200)
  noProblem(t, upstream)
})

t.test('a body that is nested deeply, or wide, is refused or answered at once', async t => {
  const upstream = await simulator(t)
  const nested = (depth: number) => `{"model":"sim-text","messages":${'['.repeat(depth)}${']'.repeat(depth)}}`
  for (const depth of [201, 1_000_000]) {
    const answer = await post(upstream, CHAT, nested(depth))
    t.match(answer, { status: 400 })
    t.match(answer.text, 'nested deeper')
  }
  t.equal((await post(upstream, CHAT, '{"a":"[[[[["}')).status, 400)
  const wide = `{"model":"sim-text","messages":[{"role":"user","content":"x"}]${',"k":1'.repeat(200_000)}}`
  t.equal((await post(upstream, CHAT, wide)).status, 200)
  noProblem(t, upstream)
})

t.test('a body over 64 MiB is refused', async t => {
  const upstream = await simulator(t)
  const answer = await post(upstream, CHAT, ' '.repeat(64 * 2 ** 20 + 1)).catch((error: unknown) => error)
  t.match(answer, { status: 413, headers: { connection: 'close' } })
  t.match(upstream.received[0], { problem: undefined })
})

// biome-ignore lint/suspicious/noExplicitAny: parsed answers are looked into freely here
type Json = any

/** The request whole, or as a stream in either of the forms that its protocol has. */
function streamed(path: string, body: object, stream: string): [path: string, body: object] {
  if (path !== GENERATE) return [path, { ...body, stream: stream !== '' }]
  if (stream === '') return [path, body]
  return [`${path.replace(':g', ':streamG')}${stream === 'sse' ? '?alt=sse' : ''}`, body]
}

function noProblem(t: Test, { received }: Simulator): void {
  t.same(
    received.flatMap(entry => entry.problem ?? []),
    [],
  )
}

function chunksOf(text: string): readonly Json[] {
  return dataOf(text)
    .filter(data => data !== '[DONE]')
    .map(data => JSON.parse(data))
}

function foldChat(text: string): unknown {
  const choices: Json[] = []
  let usage: unknown
  for (const chunk of chunksOf(text)) {
    usage = chunk.usage ?? usage
    for (const { index, delta, logprobs, finish_reason } of chunk.choices) {
      choices[index] ??= { content: null, calls: [], logprobs: [], finish: null }
      const choice = choices[index]
      if (typeof delta.content === 'string') choice.content = (choice.content ?? '') + delta.content
      for (const call of delta.tool_calls ?? []) {
        choice.calls[call.index] ??= { id: call.id, name: call.function.name, arguments: '' }
        choice.calls[call.index].arguments += call.function.arguments
      }
      choice.logprobs.push(...(logprobs?.content ?? []))
      choice.finish = finish_reason ?? choice.finish
    }
  }
  return { choices, usage }
}

function wholeChat({ choices, usage }: Json): unknown {
  const flat = choices.map(({ message, logprobs, finish_reason }: Json) => ({
    content: message.content,
    calls: (message.tool_calls ?? []).map(({ id, function: f }: Json) => ({
      id,
      name: f.name,
      arguments: f.arguments,
    })),
    logprobs: logprobs?.content ?? [],
    finish: finish_reason,
  }))
  return { choices: flat, usage }
}

function foldCompletion(text: string): unknown {
  const choices: Json[] = []
  let usage: unknown
  for (const chunk of chunksOf(text)) {
    usage = chunk.usage ?? usage
    for (const { index, text: part, finish_reason } of chunk.choices) {
      choices[index] ??= { text: '', finish: null }
      choices[index].text += part
      choices[index].finish = finish_reason ?? choices[index].finish
    }
  }
  return { choices, usage }
}

function wholeCompletion({ choices, usage }: Json): unknown {
  return { choices: choices.map(({ text, finish_reason }: Json) => ({ text, finish: finish_reason })), usage }
}

function foldResponse(text: string): unknown {
  const output: Json[] = []
  let last: Json
  for (const event of chunksOf(text)) {
    if (event.type === 'response.output_item.added') output[event.output_index] = { type: event.item.type, text: '' }
    if (event.type.endsWith('.delta')) output[event.output_index].text += event.delta
    last = event.response ?? last
  }
  return { output, status: last.status, usage: last.usage }
}

function wholeResponse({ output, status, usage }: Json): unknown {
  const texts = output.map((item: Json) => ({
    type: item.type,
    text: item.content?.[0]?.text ?? item.arguments ?? item.summary?.[0]?.text ?? '',
  }))
  return { output: texts, status, usage }
}

function foldMessage(text: string): unknown {
  const blocks: Json[] = []
  let usage: Json
  let stop: Json
  for (const event of chunksOf(text)) {
    if (event.type === 'message_start') usage = event.message.usage
    if (event.type === 'content_block_start')
      blocks[event.index] = { type: event.content_block.type, text: '', signature: '' }
    if (event.type === 'content_block_delta') {
      const { text: said, thinking, partial_json: json, signature } = event.delta
      blocks[event.index].text += said ?? thinking ?? json ?? ''
      blocks[event.index].signature += signature ?? ''
    }
    if (event.type === 'message_delta') {
      usage = { ...usage, ...event.usage }
      stop = [event.delta.stop_reason, event.delta.stop_sequence]
    }
  }
  for (const block of blocks) if (block.type === 'tool_use') block.text = parsedOr(block.text)
  return { blocks, usage, stop }
}

function wholeMessage({ content, usage, stop_reason, stop_sequence }: Json): unknown {
  const blocks = content.map(({ type, text, thinking, input, signature }: Json) => ({
    type,
    text: text ?? thinking ?? JSON.stringify(input),
    signature: signature ?? '',
  }))
  return { blocks, usage, stop: [stop_reason, stop_sequence] }
}

/** Arguments that the limit has cut are none. */
function parsedOr(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text || '{}'))
  } catch {
    return '{}'
  }
}

function foldGenerated(text: string): unknown {
  const candidates: Json[] = []
  let usage: unknown
  for (const document of chunksOf(text)) {
    usage = document.usageMetadata
    for (const { index, content, finishReason } of document.candidates) {
      candidates[index] ??= { text: '', thoughts: '', calls: [], signatures: [], finish: undefined }
      addParts(candidates[index], content.parts ?? [])
      candidates[index].finish = finishReason ?? candidates[index].finish
    }
  }
  return { candidates, usage }
}

function wholeGenerated({ candidates, usageMetadata: usage }: Json): unknown {
  const flat = candidates.map(({ content, finishReason: finish }: Json) =>
    addParts({ text: '', thoughts: '', calls: [], signatures: [], finish }, content.parts ?? []),
  )
  return { candidates: flat, usage }
}

function addParts(candidate: Json, parts: readonly Json[]): Json {
  for (const { text, thought, functionCall, thoughtSignature } of parts) {
    candidate[thought ? 'thoughts' : 'text'] += text ?? ''
    if (functionCall !== undefined) candidate.calls.push(functionCall)
    if (thoughtSignature !== undefined) candidate.signatures.push(thoughtSignature)
  }
  return candidate
}
