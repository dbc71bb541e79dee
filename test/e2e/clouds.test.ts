import { createServer } from 'node:http'
import { InvokeModelWithResponseStreamCommand } from '@aws-sdk/client-bedrock-runtime'
import t, { type Test } from 'tap'
import { encodeMessage } from '../../src/wire/eventstream.js'
import { proveNoLeak } from '../helpers/canaries.js'
import { eventsOf } from '../helpers/expect.js'
import { CALLER, startTestGateway, type TestGateway } from '../helpers/gateway.js'
import { Journal } from '../helpers/journal.js'
import { ledgerRecords } from '../helpers/ledger-records.js'
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
store: { type: file, path: ./data }
ledger: {}
${CALLER}
upstreams:
  bedrock: { kind: bedrock, ${base('')}, credential: { type: aws-sigv4, region: eu-central-1 } }
  bedrock-key: { kind: bedrock-key, ${base('')}, secret: { env: UPSTREAM_KEY } }
  bedrock-messages: { kind: bedrock-messages, ${base('')}, credential: { type: aws-sigv4, region: eu-central-1 } }
  bedrock-rerank: { kind: bedrock-rerank, ${base('')}, credential: { type: aws-sigv4, region: eu-central-1 } }
  bedrock-compatible: { kind: bedrock-compatible, ${base('')}, credential: { type: aws-sigv4, region: eu-central-1 } }
  bedrock-mantle: { kind: bedrock-mantle, ${base('')}, secret: { env: UPSTREAM_KEY } }
  vertex: { kind: vertex, ${base(place)} }
  vertex-messages: { kind: vertex-messages, ${base(place)} }
  foundry: { kind: foundry, ${base('')}, secret: { env: UPSTREAM_KEY } }
models:
  nova: { upstream: bedrock, as: "eu.amazon.nova-pro-v1:0" }
  keyed: { upstream: bedrock-key, as: "eu.amazon.nova-pro-v1:0" }
  claude: { upstream: bedrock-messages, as: "eu.anthropic.claude-sonnet-4-v1:0", traits: { max_output: 100 } }
  titan: { upstream: bedrock, as: "amazon.titan-embed-text-v2:0" }
  embed: { upstream: bedrock, as: "us.cohere.embed-v4:0" }
  rank: { upstream: bedrock, as: "cohere.rerank-v3-5:0" }
  rank-amazon: { upstream: bedrock, as: "amazon.rerank-v1:0" }
  rank-arn: { upstream: bedrock-rerank, as: "arn:aws:bedrock:eu-central-1::foundation-model/cohere.rerank-v3-5:0" }
  canvas: { upstream: bedrock, as: "amazon.nova-canvas-v1:0" }
  core: { upstream: bedrock, as: "stability.stable-image-core-v1:1" }
  oss: { upstream: bedrock-compatible, as: "openai.gpt-oss-120b-1:0" }
  mantle: { upstream: bedrock-mantle, as: openai.gpt-oss-120b }
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

  await t.test('bedrock: embeddings by InvokeModel, of one text or of many', async t => {
    answer(json({ embedding: [0.5, 0.25], embeddingsByType: { float: [0.5, 0.25] }, inputTextTokenCount: 2 }))
    const one = { model: 'titan', input: 'Hi', dimensions: 256, user: 'me' }
    const got = await gateway.request('/v1/embeddings', { body: one })
    t.match(got.json(), { data: [{ embedding: [0.5, 0.25] }], usage: { prompt_tokens: 2 } })
    t.equal(last().target, '/model/amazon.titan-embed-text-v2%3A0/invoke')
    t.match(last().headers.authorization, SIGNED)
    t.same(last().body, { inputText: 'Hi', dimensions: 256 })
    const base64 = await gateway.request('/v1/embeddings', { body: { ...one, encoding_format: 'base64' } })
    t.match(base64.json(), {
      data: [{ embedding: Buffer.from(new Float32Array([0.5, 0.25]).buffer).toString('base64') }],
    })
    // It takes one text: several are for it to refuse.
    await gateway.request('/v1/embeddings', { body: { model: 'titan', input: ['a', 'b'] } })
    t.same(last().body, { input: ['a', 'b'] })
    answer(json({ id: 'e', response_type: 'embeddings_floats', embeddings: [[1], [2]], texts: ['a', 'b'] }))
    const body = { model: 'embed', input: ['a', 'b'], dimensions: 1, input_type: 'search_query' }
    const many = await gateway.request('/v1/embeddings', { body })
    t.match(many.json(), { data: [{ embedding: [1] }, { embedding: [2] }] })
    t.equal(last().target, '/model/us.cohere.embed-v4%3A0/invoke')
    t.same(last().body, { texts: ['a', 'b'], output_dimension: 1, input_type: 'search_query' })
    const native = { requests: ['a', 'b'].map(text => ({ content: { parts: [{ text }] } })) }
    const translated = await gateway.request('/v1beta/models/embed:batchEmbedContents', { body: native })
    t.match(translated.json(), { embeddings: [{ values: [1] }, { values: [2] }] })
    t.same(last().body, { texts: ['a', 'b'], input_type: 'search_document' })
  })

  await t.test('bedrock: reranking by InvokeModel and by Rerank', async t => {
    const query = { query: 'a', documents: ['b', { text: 'a' }], top_n: 1, return_documents: true }
    answer(json({ results: [{ index: 1, relevance_score: 0.9 }] }))
    for (const [model, own] of [
      ['rank', { api_version: 2 }],
      ['rank-amazon', {}],
    ] as const) {
      const got = await gateway.request('/v1/rerank', { body: { model, ...query } })
      t.match(got.json(), { results: [{ index: 1, relevance_score: 0.9, document: { text: 'a' } }] })
      t.same(last().body, { query: 'a', documents: ['b', 'a'], top_n: 1, ...own })
    }
    t.equal(last().target, '/model/amazon.rerank-v1%3A0/invoke')
    answer(json({ results: [{ index: 1, relevanceScore: 0.9, document: { type: 'TEXT' } }] }))
    const got = await gateway.request('/v2/rerank', {
      body: { model: 'rank-arn', query: 'a', documents: ['b', 'a'], top_n: 1 },
    })
    t.match(got.json(), { results: [{ index: 1, relevance_score: 0.9 }] })
    t.equal(last().target, '/rerank')
    t.match(last().headers.authorization, SIGNED)
    const source = (text: string): object => ({
      type: 'INLINE',
      inlineDocumentSource: { type: 'TEXT', textDocument: { text } },
    })
    const modelArn = 'arn:aws:bedrock:eu-central-1::foundation-model/cohere.rerank-v3-5:0'
    t.same(last().body, {
      queries: [{ type: 'TEXT', textQuery: { text: 'a' } }],
      sources: [source('b'), source('a')],
      rerankingConfiguration: {
        type: 'BEDROCK_RERANKING_MODEL',
        bedrockRerankingConfiguration: { modelConfiguration: { modelArn }, numberOfResults: 1 },
      },
    })
  })

  await t.test('bedrock: images by InvokeModel', async t => {
    answer(json({ images: ['aGk=', 'aG8='] }))
    const asked = { prompt: 'A cat', size: '1024x768', n: 2, quality: 'hd', response_format: 'b64_json', user: 'me' }
    const got = await gateway.request('/v1/images/generations', { body: { model: 'canvas', ...asked } })
    t.match(got.json(), { data: [{ b64_json: 'aGk=' }, { b64_json: 'aG8=' }] })
    t.equal(last().target, '/model/amazon.nova-canvas-v1%3A0/invoke')
    t.match(last().headers.authorization, SIGNED)
    t.same(last().body, {
      taskType: 'TEXT_IMAGE',
      textToImageParams: { text: 'A cat' },
      imageGenerationConfig: { width: 1024, height: 768, numberOfImages: 2, quality: 'premium' },
    })
    answer(json({ seeds: [1], finish_reasons: [null], images: ['aGk='] }))
    const body = { model: 'core', prompt: 'A cat', size: '1536x1024', n: 1, quality: 'high' }
    t.match((await gateway.request('/v1/images/generations', { body })).json(), { data: [{ b64_json: 'aGk=' }] })
    t.same(last().body, { prompt: 'A cat', aspect_ratio: '3:2' })
    for (const [refusal, message] of [
      [{ finish_reasons: ['Filter reason: prompt'] }, 'Filter reason: prompt'],
      [{ images: [], error: 'All images are blocked.' }, 'All images are blocked.'],
    ] as const) {
      answer(json(refusal))
      const refused = await gateway.request('/v1/images/generations', { body: { ...body, user: 'refused' } })
      t.equal(refused.status, 400)
      t.match(refused.json(), { error: { message, code: 'content_policy_violation' } })
    }
  })

  await t.test('bedrock: compatible endpoints', async t => {
    answer(json({ id: 'c', object: 'chat.completion', created: 1, model: 'm', choices: [] }))
    await gateway.request('/v1/chat/completions', { body: { model: 'oss', ...CHAT } })
    t.equal(last().target, '/openai/v1/chat/completions')
    t.match(last().headers.authorization, SIGNED)
    t.same(last().body, { model: 'openai.gpt-oss-120b-1:0', ...CHAT })
    await gateway.request('/v1/chat/completions', { body: { model: 'mantle', ...CHAT } })
    t.equal(last().target, '/v1/chat/completions')
    t.match(last().headers.authorization, /^Bearer canary-upstream/)
    answer(json({ id: 'r', object: 'response', output: [] }))
    await gateway.request('/v1/responses', { body: { model: 'mantle', input: 'Hi' } })
    t.equal(last().target, '/v1/responses')
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

  await t.test('what InvokeModel makes is counted, at its shipped price', async t => {
    const { plan } = gateway.gateway
    await gateway.gateway.close()
    const records = await ledgerRecords({ gateway: { plan } })
    const first = (model: string): unknown => records.find(record => record.model === model)
    t.match(first('titan'), { units: { input: 2 } })
    t.match(first('embed'), { units: { input: Number }, estimated: true })
    t.match(first('rank'), { units: { search: 1 }, cost: 2000 })
    t.match(first('rank-arn'), { units: { search: 1 }, cost: 2000 })
    t.match(first('canvas'), { units: { image: 2 }, cost: 160_000 })
    t.match(first('core'), { units: { image: 1 }, cost: 40_000 })
    t.equal(records.filter(({ model, cost }) => model === 'core' && cost > 0).length, 1, 'refused ones cost nothing')
  })
})

async function fails(promise: Promise<unknown>): Promise<{ $metadata?: { httpStatusCode?: number } }> {
  return promise.then(
    () => ({}),
    (reason: unknown) => reason as object,
  )
}

proveNoLeak(t)
