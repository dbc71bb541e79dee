import fc from 'fast-check'
import t, { type Test } from 'tap'
import type { Simulator } from '../../src/simulator/index.js'
import { CHAT, dataOf, exchange, post, simulator } from './support.js'

const RUNS = { numRuns: 60 }

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

type Ask = { readonly path: string; readonly body: object }

t.test('property: the same request gets the same bytes, headers and all, streamed or not', async t => {
  const upstream = await simulator(t)
  const other = await simulator(t)
  await fc.assert(
    fc.asyncProperty(
      fc.oneof(chatRequest, completionRequest, responsesRequest),
      fc.boolean(),
      async ({ path, body }, stream) => {
        const answers = await Promise.all(
          [upstream, upstream, other].map(each => post(each, path, { ...body, stream })),
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
    const streamed = (await post(upstream, path, { ...body, ...more, stream: true })).text
    t.same(fold(streamed), whole(plain))
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
})

t.test('property: whatever JSON comes, it is answered, and nothing breaks inside', async t => {
  const upstream = await simulator(t)
  const paths = fc.constantFrom(CHAT, '/v1/completions', '/v1/embeddings', '/v1/moderations', '/v1/responses')
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
  )
  const more = fc.dictionary(names, odd, { maxKeys: 6 })
  const base = fc.constantFrom({}, { messages: [{ role: 'user', content: 'f' }] }, { input: 'f' }, { prompt: ['f'] })
  await fc.assert(
    fc.asyncProperty(paths, base, more, async (path, base, more) => {
      const { status } = await post(upstream, path, { model: 'sim-text', ...base, ...more })
      return status === 200 || (status >= 400 && status < 500)
    }),
    { numRuns: 400 },
  )
  noProblem(t, upstream)
})

t.test('property: whatever bytes come, the simulator goes on', async t => {
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
