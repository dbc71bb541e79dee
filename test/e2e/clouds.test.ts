import { createServer } from 'node:http'
import { InvokeModelWithResponseStreamCommand } from '@aws-sdk/client-bedrock-runtime'
import t, { type Test } from 'tap'
import { encodeMessage } from '../../src/wire/eventstream.js'
import { proveNoLeak } from '../helpers/canaries.js'
import { eventsOf } from '../helpers/expect.js'
import { CALLER, startTestGateway, type TestGateway } from '../helpers/gateway.js'
import { Journal } from '../helpers/journal.js'
import { listening } from '../helpers/listening.js'
import { converseSdk } from './clients/converse.js'

/** The kinds of clouds: where they are called, with which credential, and with which body. The answers are the services' own. */

interface Asked {
  readonly target: string
  readonly headers: Readonly<Record<string, unknown>>
  readonly body: Readonly<Record<string, unknown>>
}

interface Answer {
  readonly type: string
  readonly bytes: Buffer | string
}

const json = (value: unknown): Answer => ({ type: 'application/json', bytes: JSON.stringify(value) })

/** A cloud, and the metadata server that gives programs their tokens. */
async function stage(t: Test): Promise<{
  gateway: TestGateway
  asked: Journal<Asked>
  answer: (answer: Answer) => void
}> {
  const asked = new Journal<Asked>('requests to the cloud')
  let next = json({})
  const cloud = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', (text: string) => {
      body += text
    })
    request.on('end', () => {
      asked.push({ target: request.url ?? '', headers: request.headers, body: JSON.parse(body) as Asked['body'] })
      response.writeHead(200, { 'content-type': next.type }).end(next.bytes)
    })
  })
  const metadata = createServer((_, response) => {
    const token = { access_token: 'canary-upstream-token', expires_in: 3600, token_type: 'Bearer' }
    response
      .writeHead(200, { 'content-type': 'application/json', 'metadata-flavor': 'Google' })
      .end(JSON.stringify(token))
  })
  const [port, tokens] = [await listening(t, cloud), await listening(t, metadata)]
  const base = (path: string): string => `base: "http://127.0.0.1:${port}${path}"`
  const place = '/v1/projects/north/locations/europe-west4'
  const yaml = `version: 1
${CALLER}
upstreams:
  bedrock: { kind: bedrock, ${base('')}, credential: { type: aws-sigv4, region: eu-central-1 } }
  bedrock-key: { kind: bedrock-key, ${base('')}, secret: { env: UPSTREAM_KEY } }
  bedrock-messages: { kind: bedrock-messages, ${base('')}, credential: { type: aws-sigv4, region: eu-central-1 } }
  vertex: { kind: vertex, ${base(place)} }
  vertex-messages: { kind: vertex-messages, ${base(place)} }
  foundry: { kind: foundry, ${base('')}, secret: { env: UPSTREAM_KEY } }
models:
  nova: { upstream: bedrock, as: "eu.amazon.nova-pro-v1:0" }
  keyed: { upstream: bedrock-key, as: "eu.amazon.nova-pro-v1:0" }
  claude: { upstream: bedrock-messages, as: "eu.anthropic.claude-sonnet-4-v1:0", traits: { max_output: 100 } }
  gemini: { upstream: vertex, as: gemini-2.5-pro }
  vectors: { upstream: vertex, as: gemini-embedding-001 }
  imagen: { upstream: vertex, as: imagen-4.0-generate-001, traits: { images: predict } }
  opus: { upstream: vertex-messages, as: "claude-opus-4@20250514", traits: { max_output: 100 } }
  foundry: { upstream: foundry, as: claude-sonnet-4 }
`
  const env = {
    AWS_ACCESS_KEY_ID: 'AKIDEXAMPLE',
    AWS_SECRET_ACCESS_KEY: 'canary-upstream-secret',
    GCE_METADATA_HOST: `127.0.0.1:${tokens}`,
    HOME: '/nowhere',
  }
  const gateway = await startTestGateway(t, yaml, { env })
  const answer = (one: Answer): void => {
    next = one
  }
  return { gateway, asked, answer }
}

const CHAT = { messages: [{ role: 'user', content: 'Hi' }] }
const SAID = [{ role: 'user', content: [{ text: 'Hi' }] }]
const CONVERSED = json({
  output: { message: { role: 'assistant', content: [{ text: 'Hello.' }] } },
  stopReason: 'end_turn',
  usage: { inputTokens: 3, outputTokens: 2, totalTokens: 5 },
  metrics: { latencyMs: 7 },
})
const MESSAGE = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'claude',
  content: [{ type: 'text', text: 'Hello.' }],
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: { input_tokens: 3, output_tokens: 2 },
}
const EVENTS: readonly Readonly<Record<string, unknown>>[] = [
  { type: 'message_start', message: { ...MESSAGE, content: [], stop_reason: null } },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hello.' } },
  { type: 'content_block_stop', index: 0 },
  { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: 2 } },
  { type: 'message_stop' },
]

function binary(event: string, payload: unknown): Buffer {
  const headers = [
    [':event-type', event],
    [':content-type', 'application/json'],
    [':message-type', 'event'],
  ] as const
  return encodeMessage(headers, Buffer.from(JSON.stringify(payload)))
}

/** Events of messages as InvokeModel wraps them, with padding. */
const WRAPPED: Answer = {
  type: 'application/vnd.amazon.eventstream',
  bytes: Buffer.concat(
    EVENTS.map(event =>
      binary('chunk', { bytes: Buffer.from(JSON.stringify(event)).toString('base64'), p: 'abcdefgh' }),
    ),
  ),
}

const STREAMED: Answer = {
  type: 'application/vnd.amazon.eventstream',
  bytes: Buffer.concat([
    binary('messageStart', { role: 'assistant', p: 'ab' }),
    binary('contentBlockDelta', { contentBlockIndex: 0, delta: { text: 'Hello.' }, p: 'abc' }),
    binary('contentBlockStop', { contentBlockIndex: 0, p: 'a' }),
    binary('messageStop', { stopReason: 'end_turn', p: 'a' }),
    binary('metadata', { usage: { inputTokens: 3, outputTokens: 2, totalTokens: 5 }, metrics: { latencyMs: 7 } }),
  ]),
}

const SIGNED = /^AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE\/\d{8}\/eu-central-1\/bedrock\/aws4_request, /
const TOKEN = /^Bearer canary-upstream-token$/

t.test('clouds', async t => {
  const { gateway, asked, answer } = await stage(t)
  const last = (): Asked => asked.items.at(-1) as Asked

  await t.test('bedrock: chat is translated, and the request is signed', async t => {
    answer(CONVERSED)
    const got = await gateway.request('/v1/chat/completions', { body: { model: 'nova', ...CHAT } })
    t.match(got.json(), { choices: [{ message: { content: 'Hello.' } }], usage: { prompt_tokens: 3 } })
    t.equal(last().target, '/model/eu.amazon.nova-pro-v1%3A0/converse')
    t.match(last().headers.authorization, SIGNED)
    t.same(last().body, { messages: SAID })
  })

  await t.test('bedrock: a stream is translated', async t => {
    answer(STREAMED)
    const body = { model: 'nova', stream: true, stream_options: { include_usage: true }, ...CHAT }
    const { text } = await gateway.request('/v1/chat/completions', { body })
    const chunks = eventsOf(text).filter(({ data }) => data !== '[DONE]')
    t.match(JSON.parse(chunks.at(-1)?.data ?? ''), { usage: { prompt_tokens: 3, completion_tokens: 2 } })
    t.match(text, /"content":"Hello\."/)
    t.equal(last().target, '/model/eu.amazon.nova-pro-v1%3A0/converse-stream')
  })

  await t.test('bedrock: clients of its protocol are relayed, byte for byte', async t => {
    answer(STREAMED)
    const got = await gateway.request('/model/nova/converse-stream', {
      body: { messages: SAID, inferenceConfig: { maxTokens: 9 }, guardrailConfig: { guardrailIdentifier: 'g' } },
    })
    t.equal(got.header('content-type'), 'application/vnd.amazon.eventstream')
    t.same(got.body, STREAMED.bytes)
    t.match(last().body, { guardrailConfig: { guardrailIdentifier: 'g' } })
  })

  await t.test('bedrock: a stream whose checksum is wrong, or that is cut, ends with an exception', async t => {
    const bytes = Buffer.from(STREAMED.bytes)
    const wrong = Buffer.from(bytes)
    wrong[wrong.length - 1] = (wrong.at(-1) ?? 0) ^ 1
    for (const spoiled of [wrong, bytes.subarray(0, bytes.length - 5), bytes.subarray(0, 400)]) {
      answer({ ...STREAMED, bytes: spoiled })
      const own = await gateway.request('/model/nova/converse-stream', { body: { messages: SAID } })
      t.match(own.body.toString('latin1'), /:exception-type.*internalServerException/s)
      const chat = await gateway.request('/v1/chat/completions', { body: { model: 'nova', stream: true, ...CHAT } })
      t.match(chat.text, /"error":\{/)
      t.notMatch(chat.text, /\[DONE\]/)
    }
  })

  await t.test('bedrock: with an API key', async t => {
    answer(CONVERSED)
    const got = await gateway.request('/model/keyed/converse', { body: { messages: SAID } })
    t.match(got.json(), { stopReason: 'end_turn', metrics: { latencyMs: 7 } })
    t.match(last().headers.authorization, /^Bearer canary-upstream/)
  })

  await t.test('bedrock: Claude by its own protocol', async t => {
    answer(json(MESSAGE))
    const body = { model: 'claude', max_tokens: 9, ...CHAT }
    t.match((await gateway.request('/v1/messages', { body })).json(), { content: [{ text: 'Hello.' }] })
    t.equal(last().target, '/model/eu.anthropic.claude-sonnet-4-v1%3A0/invoke')
    t.match(last().headers.authorization, SIGNED)
    t.same(last().body, { max_tokens: 9, ...CHAT, anthropic_version: 'bedrock-2023-05-31' })
    answer(WRAPPED)
    const { text } = await gateway.request('/v1/messages', { body: { ...body, stream: true } })
    t.same(
      eventsOf(text).map(({ event, data }) => [event, JSON.parse(data)]),
      EVENTS.map(event => [event.type, event]),
    )
    t.equal(last().target, '/model/eu.anthropic.claude-sonnet-4-v1%3A0/invoke-with-response-stream')
    t.notOk('stream' in last().body)
    const chat = await gateway.request('/v1/chat/completions', { body: { ...CHAT, model: 'claude', stream: true } })
    t.match(chat.text, /"content":"Hello\."/)
  })

  await t.test('bedrock: Claude, where a wrapped stream is spoiled', async t => {
    answer({ ...WRAPPED, bytes: Buffer.from(WRAPPED.bytes).subarray(0, 600) })
    const body = { model: 'claude', max_tokens: 9, stream: true, ...CHAT }
    const { text } = await gateway.request('/v1/messages', { body })
    t.match(eventsOf(text).at(-1), { event: 'error' })
  })

  await t.test('vertex: Gemini, whole and streamed', async t => {
    const candidates = [{ content: { role: 'model', parts: [{ text: 'Hello.' }] }, finishReason: 'STOP' }]
    answer(json({ candidates, usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 2, totalTokenCount: 5 } }))
    const got = await gateway.request('/v1/chat/completions', { body: { model: 'gemini', ...CHAT } })
    t.match(got.json(), { choices: [{ message: { content: 'Hello.' } }] })
    const place = '/v1/projects/north/locations/europe-west4/publishers/google/models/gemini-2.5-pro'
    t.equal(last().target, `${place}:generateContent`)
    t.match(last().headers.authorization, TOKEN)
    answer({ type: 'text/event-stream', bytes: `data: ${JSON.stringify({ candidates })}\r\n\r\n` })
    await gateway.request('/v1/chat/completions', { body: { model: 'gemini', stream: true, ...CHAT } })
    t.equal(last().target, `${place}:streamGenerateContent?alt=sse`)
  })

  await t.test('vertex: embeddings of the compatible interface', async t => {
    answer(json({ predictions: [{ embeddings: { values: [0.5, 0.25], statistics: { token_count: 2 } } }] }))
    const body = { model: 'vectors', input: 'Hi', dimensions: 2, encoding_format: 'float' }
    const got = await gateway.request('/v1/embeddings', { body })
    t.match(got.json(), { data: [{ embedding: [0.5, 0.25] }], usage: { prompt_tokens: 2 } })
    t.match(last().target, /\/publishers\/google\/models\/gemini-embedding-001:predict$/)
    t.same(last().body, { instances: [{ content: 'Hi' }], parameters: { outputDimensionality: 2 } })
  })

  await t.test('vertex: Imagen', async t => {
    answer(json({ predictions: [{ bytesBase64Encoded: 'aGk=', mimeType: 'image/png' }] }))
    const got = await gateway.request('/v1/images/generations', { body: { model: 'imagen', prompt: 'A cat' } })
    t.match(got.json(), { data: [{ b64_json: 'aGk=' }] })
    t.match(last().target, /\/publishers\/google\/models\/imagen-4\.0-generate-001:predict$/)
    t.match(last().body, { instances: [{ prompt: 'A cat' }] })
  })

  await t.test('vertex: Claude by rawPredict and streamRawPredict', async t => {
    answer(json(MESSAGE))
    const body = { model: 'opus', max_tokens: 9, ...CHAT }
    t.match((await gateway.request('/v1/messages', { body })).json(), { content: [{ text: 'Hello.' }] })
    t.match(last().target, /\/publishers\/anthropic\/models\/claude-opus-4(@|%40)20250514:rawPredict$/)
    t.match(last().headers.authorization, TOKEN)
    t.same(last().body, { max_tokens: 9, ...CHAT, anthropic_version: 'vertex-2023-10-16' })
    const bytes = EVENTS.map(event => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('')
    answer({ type: 'text/event-stream', bytes })
    const { text } = await gateway.request('/v1/messages', { body: { ...body, stream: true } })
    t.equal(eventsOf(text).length, EVENTS.length)
    t.match(last().target, /:streamRawPredict$/)
    t.match(last().body, { stream: true })
  })

  await t.test('foundry: Claude, and others', async t => {
    answer(json(MESSAGE))
    const message = { model: 'foundry', max_tokens: 9, ...CHAT }
    t.match((await gateway.request('/v1/messages', { body: message })).json(), { content: [{ text: 'Hello.' }] })
    t.equal(last().target, '/anthropic/v1/messages')
    t.match(last().headers, { 'api-key': /^canary-upstream/, 'anthropic-version': '2023-06-01' })
    answer(json({ id: 'c', object: 'chat.completion', created: 1, model: 'm', choices: [] }))
    await gateway.request('/v1/chat/completions', { body: { model: 'foundry', ...CHAT } })
    t.equal(last().target, '/openai/v1/chat/completions')
  })

  await t.test('clients of converse: refusals are the errors that their SDK knows', async t => {
    const sdk = converseSdk(gateway.origin, gateway.key)
    const unknown = await fails(sdk.send(new InvokeModelWithResponseStreamCommand({ modelId: 'x', body: '{}' })))
    t.equal(unknown.$metadata?.httpStatusCode, 404)
    sdk.destroy()
    for (const [path, status, name] of [
      ['/model/nobody/converse', 404, 'ResourceNotFoundException'],
      ['/model/nobody/converse-stream', 404, 'ResourceNotFoundException'],
    ] as const) {
      const got = await gateway.request(path, { body: { messages: SAID } })
      t.equal(got.status, status)
      t.match(got.json(), { __type: name, message: String })
    }
    const bad = await gateway.request('/model/nova/converse', { body: { messages: [] } })
    t.match(bad.json(), { __type: 'ValidationException', message: /messages/ })
  })
})

async function fails(promise: Promise<unknown>): Promise<{ $metadata?: { httpStatusCode?: number } }> {
  return promise.then(
    () => ({}),
    (reason: unknown) => reason as object,
  )
}

proveNoLeak(t)
