import t from 'tap'
import { body, brokenStream, chunk, DONE, finish, head, json, LAST_CHUNK, stream } from '../helpers/answers.js'
import { CALLER, oneUpstream, startTestGateway, type TestGateway } from '../helpers/gateway.js'
import { type Script, startRawUpstream } from '../helpers/raw-upstream.js'

/** Usage, the end of a stream and errors are reported at declared places alone; the arguments of a tool may hold anything. */

const WRONG_CHAT = { prompt_tokens: 666, completion_tokens: 666, total_tokens: 666 }
const WRONG = {
  usage: { ...WRONG_CHAT, input_tokens: 666, output_tokens: 666 },
  usageMetadata: { promptTokenCount: 666, candidatesTokenCount: 666, totalTokenCount: 666 },
  response: { usage: { input_tokens: 666 } },
  message: { usage: { input_tokens: 666 } },
  finishReason: 'STOP',
  blockReason: 'SAFETY',
  candidates: [{ finishReason: 'STOP' }],
  promptFeedback: { blockReason: 'SAFETY' },
  error: { code: 500, message: 'not an error' },
}
const LONG = 'x'.repeat(20_000)

const NATIVE =
  'generate: { call: "POST /v1beta/models/{model}:generateContent", ' +
  'stream: "POST /v1beta/models/{model}:streamGenerateContent?alt=sse" }'

async function gatewayTo(t: Parameters<typeof startRawUpstream>[0], script: Script, speaks = '') {
  const upstream = await startRawUpstream(t)
  upstream.answer(script)
  const yaml = speaks
    ? `version: 1\n${CALLER}\nupstreams: { up: { base: "${upstream.origin}", speaks: { ${speaks} } } }\nmodels: { m: up }\n`
    : oneUpstream(upstream.origin)
  return startTestGateway(t, yaml)
}

const line = (gateway: TestGateway) => gateway.log.find(line => line.msg === 'request')
const native = (part: object, more: object = {}, inner: object = {}) => ({
  candidates: [{ content: { role: 'model', parts: [part] }, index: 0, ...inner }],
  ...more,
})
const CALL = { functionCall: { name: 'f', args: { ...WRONG, deeper: [WRONG] } } }
const COUNTED = { usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 5, totalTokenCount: 8 } }
const ASK = { body: { contents: [{ role: 'user', parts: [{ text: 'x' }] }] } }
const events = (messages: readonly object[]): string[] => messages.map(one => `data: ${JSON.stringify(one)}\n\n`)

for (const [query, framing] of [
  ['?alt=sse', 'events'],
  ['', 'events'],
  ['?alt=sse', 'array'],
  ['', 'array'],
] as const) {
  const script = (messages: readonly object[]): Script =>
    framing === 'events'
      ? stream(events(messages))
      : stream([JSON.stringify(messages)], { headers: { 'content-type': 'application/json' } })
  const title = `a native stream of ${framing} ${query === '' ? 'as an array' : 'as events'}`
  const path = `/v1beta/models/m:streamGenerateContent${query}`

  for (const [size, text] of [
    ['short', ''],
    ['long', LONG],
  ] as const) {
    t.test(`${title} is not whole because arguments say so (${size})`, async t => {
      const gateway = await gatewayTo(t, script([native({ text }), native({ ...CALL, text }, COUNTED)]), NATIVE)
      const answer = await gateway.request(path, ASK)
      t.match(answer.text, /"error":\{"code":502/)
      t.match(await line(gateway), { error: 'upstream_truncated', truncated: true, input_tokens: 3, output_tokens: 5 })
    })

    t.test(`${title} counts what is at its places (${size})`, async t => {
      const end = native({ ...CALL, text }, COUNTED, { finishReason: 'STOP' })
      const gateway = await gatewayTo(t, script([native({ text: 'a' }), end, native(CALL)]), NATIVE)
      const answer = await gateway.request(path, ASK)
      t.notMatch(answer.text, /"code":502/)
      t.match(await line(gateway), { outcome: 'ok', input_tokens: 3, output_tokens: 5, total_tokens: 8 })
    })
  }
}

for (const [where, answer] of [
  ['small', native(CALL, COUNTED)],
  ['large, usage first', { ...COUNTED, ...native({ ...CALL, text: LONG }) }],
  ['large, usage last', native({ ...CALL, text: LONG }, COUNTED)],
  ['large, usage in the middle', { a: LONG, ...COUNTED, ...native({ ...CALL, text: LONG }) }],
] as const)
  t.test(`usage of a native answer: ${where}`, async t => {
    const gateway = await gatewayTo(t, json(answer), NATIVE)
    t.same((await gateway.request('/v1beta/models/m:generateContent', ASK)).json(), answer)
    t.match(await line(gateway), { outcome: 'ok', input_tokens: 3, output_tokens: 5, total_tokens: 8 })
  })

t.test('arguments of a native answer without usage tell none', async t => {
  for (const text of ['', LONG]) {
    const gateway = await gatewayTo(t, json(native({ ...CALL, text })), NATIVE)
    await gateway.request('/v1beta/models/m:generateContent', ASK)
    t.same(
      Object.keys(await line(gateway)).filter(name => name.endsWith('_tokens')),
      [],
    )
  }
})

t.test('a messages stream: usage of the message and its deltas, not of a tool’s input', async t => {
  const start = { type: 'message_start', message: { id: 'msg_1', usage: { input_tokens: 3, output_tokens: 1 } } }
  const block = { type: 'content_block_start', index: 0, content_block: { type: 'server_tool_use', input: WRONG } }
  const delta = { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 9 } }
  const named = (messages: readonly { type: string }[]): string[] =>
    messages.map(one => `event: ${one.type}\ndata: ${JSON.stringify(one)}\n\n`)
  for (const padding of [[], [{ type: 'ping', x: LONG }]]) {
    const script = stream(named([start, ...padding, block, delta, block, { type: 'message_stop' }]))
    const gateway = await gatewayTo(t, script, 'messages: POST /v1/messages')
    const asked = { model: 'm', max_tokens: 9, stream: true, messages: [{ role: 'user', content: 'x' }] }
    await gateway.request('/v1/messages', { body: asked, headers: { 'anthropic-version': '2023-06-01' } })
    t.match(await line(gateway), { outcome: 'ok', input_tokens: 3, output_tokens: 9 })
  }
})

t.test('a responses stream: usage of the last event, however long it is', async t => {
  const usage = { input_tokens: 3, output_tokens: 4, total_tokens: 7 }
  const item = { type: 'mcp_call', output: WRONG, arguments: JSON.stringify(WRONG) }
  for (const text of ['', LONG]) {
    const last = {
      type: 'response.completed',
      response: { id: 'resp_1', status: 'completed', output: [item, text], usage, tools: [WRONG] },
    }
    const added = { type: 'response.output_item.added', item, usage: 0 }
    const script = stream([added, last].map(one => `event: ${one.type}\ndata: ${JSON.stringify(one)}\n\n`))
    const gateway = await gatewayTo(t, script)
    await gateway.request('/v1/responses', { body: { model: 'm', input: 'hi', stream: true } })
    t.match(await line(gateway), { outcome: 'ok', input_tokens: 3, output_tokens: 4, total_tokens: 7 })
  }
})

t.test('a chat stream whose server tells usage in its last choice, or in an object of its own', async t => {
  const usage = { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 }
  const choice = { index: 0, delta: {}, finish_reason: 'stop' }
  for (const last of [{ choices: [{ ...choice, usage }] }, { choices: [choice], x_groq: { id: 'r', usage } }]) {
    const gateway = await gatewayTo(t, stream([...events([{ choices: [{ index: 0, delta: WRONG }] }, last]), DONE]))
    await gateway.chat({ stream: true })
    t.match(await line(gateway), { outcome: 'ok', input_tokens: 3, output_tokens: 4, total_tokens: 7 })
  }
})

t.test('an error inside content is not an error of the answer', async t => {
  const delta = { choices: [{ index: 0, delta: { content: 'x', more: WRONG } }] }
  const gateway = await gatewayTo(t, stream([...events([delta, delta]), DONE]))
  await gateway.chat({ stream: true })
  t.match(await line(gateway), { outcome: 'ok' })
  t.equal((await line(gateway)).error, undefined)
})

t.test('a truncated JSON answer never ends as a whole one, however deep it is', async t => {
  const depth = 100_000
  const cases = {
    'deep, cut on its way back': `{"a":${'['.repeat(depth)}${']'.repeat(depth - 1)}`,
    'deep, cut on its way': `{"a":${'[{"b":'.repeat(depth)}{}`,
    'wide, cut behind an element': `{"a":[${'{"b":[1]},'.repeat(5000)}{"b":[1]}`,
    'cut in a string that ends like a document': `{"a":"${LONG}{}`,
  }
  for (const [name, text] of Object.entries(cases)) {
    for (const script of [body(text), chunked(text)]) {
      const gateway = await gatewayTo(t, script)
      const answer = await gateway.chat().catch(() => undefined)
      t.ok(answer === undefined || answer.status === 502 || !answer.whole, name)
      t.match(
        await line(gateway),
        { error: /^(upstream_truncated|bad_upstream_response)$/, outcome: 'upstream_error' },
        name,
      )
    }
  }
  const whole = `{"a":${'['.repeat(depth)}${']'.repeat(depth)}}`
  const gateway = await gatewayTo(t, body(whole))
  t.equal((await gateway.chat()).text, whole)
})

function chunked(text: string): Script {
  return async peer => {
    await peer.send(head(200, { 'content-type': 'application/json', 'transfer-encoding': 'chunked' }))
    await peer.send(chunk(text))
    await peer.send(LAST_CHUNK)
  }
}

t.test('a stream that breaks off behind a call is reported as broken off', async t => {
  const gateway = await gatewayTo(t, brokenStream(events([native(CALL)]), finish), NATIVE)
  const answer = await gateway.request('/v1beta/models/m:streamGenerateContent?alt=sse', ASK)
  t.match(answer.text, /"error":\{"code":502/)
})
