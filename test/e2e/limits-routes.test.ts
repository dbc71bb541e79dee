import Anthropic from '@anthropic-ai/sdk'
import OpenAI, { toFile } from 'openai'
import t, { type Test } from 'tap'
import type { LedgerRecord } from '../../src/core/ledger.js'
import { DONE, json, stream } from '../helpers/answers.js'
import { startTestGateway, type TestGateway } from '../helpers/gateway.js'
import { ledgerRecords } from '../helpers/ledger-records.js'
import { type RawUpstream, startRawUpstream } from '../helpers/raw-upstream.js'

/** Limits and charges on routes that are not one question and one answer: files, batches, background, tasks, several images. */

async function serving(t: Test, yaml: string, limits: string): Promise<TestGateway> {
  const key = `keys: { caller: { secret: { env: CALLER_KEY }, models: ["*"], limits: { ${limits} } } }`
  return startTestGateway(t, `version: 1\nstore: { type: file, path: ./data }\n${key}\n${yaml}`)
}

/** What the ledger has once the gateway has ended. */
async function charged({ gateway }: TestGateway): Promise<readonly LedgerRecord[]> {
  const { plan } = gateway
  await gateway.close()
  return ledgerRecords({ gateway: { plan } })
}

const sdkOf = ({ origin, key }: TestGateway): OpenAI =>
  new OpenAI({ apiKey: key, baseURL: `${origin}/v1`, maxRetries: 0 })
const anthropicOf = ({ origin, key }: TestGateway): Anthropic =>
  new Anthropic({ apiKey: key, baseURL: origin, maxRetries: 0 })

/** The status with which an SDK is refused. */
const statusOf = async (asked: Promise<unknown>): Promise<number | undefined> =>
  asked.then(
    () => 200,
    (error: { status?: number }) => error.status,
  )

// ── files and uploads

const FILES =
  'upstreams: { sim: { kind: simulator } }\nmodels: { "sim-*": sim }\nprices: { "sim-*": { request: 1.00 } }\n'
const upload = async (sdk: OpenAI, text = 'The fox.'): Promise<OpenAI.FileObject> =>
  sdk.files.create({ file: await toFile(Buffer.from(text), 'fox.txt'), purpose: 'user_data' })

t.test('F-A8 files and uploads cost nothing, also for a key whose budget is spent', async t => {
  const gateway = await serving(t, FILES, 'budget: 1 USD/day')
  const sdk = sdkOf(gateway)
  const ask = (): Promise<unknown> =>
    sdk.chat.completions.create({ model: 'sim-text', max_tokens: 4, messages: [{ role: 'user', content: 'a' }] })
  await ask()
  t.equal(await statusOf(ask()), 429, 'the budget is spent')
  const file = await upload(sdk)
  t.equal(await (await sdk.files.content(file.id)).text(), 'The fox.')
  const parts = await sdk.uploads.create({ bytes: 8, filename: 'a.txt', mime_type: 'text/plain', purpose: 'user_data' })
  const part = await sdk.uploads.parts.create(parts.id, { data: await toFile(Buffer.from('The fox.'), 'a') })
  t.match(await sdk.uploads.complete(parts.id, { part_ids: [part.id] }), { status: 'completed' })
  const records = await charged(gateway)
  t.strictSame(
    records.map(({ route, cost }) => [route, cost]),
    [['POST /v1/chat/completions', 1_000_000]],
  )
})

t.test('F-A8 files and uploads count as requests, and as large ones where they are', async t => {
  const gateway = await serving(t, FILES, 'requests: 2/day, body: 4KiB')
  const sdk = sdkOf(gateway)
  t.equal(await statusOf(upload(sdk, 'x'.repeat(5000))), 413)
  t.equal(await statusOf(upload(sdk)), 200)
  t.equal(await statusOf(upload(sdk)), 429)
  t.equal(await statusOf(sdk.files.list().then(page => page.data)), 200, 'a list of the gateway asks no upstream')
})

// ── batches

const LINE = { method: 'POST', url: '/v1/chat/completions', body: { model: 'sim-text', messages: [] } }
const lines = (count: number): string =>
  Array.from({ length: count }, (_, at) => JSON.stringify({ custom_id: `r${at}`, ...LINE })).join('\n')

async function batchOf(sdk: OpenAI, count: number): Promise<number | undefined> {
  const file = await toFile(Buffer.from(lines(count)), 'in.jsonl')
  const input = await sdk.files.create({ file, purpose: 'batch' })
  const params = { endpoint: '/v1/chat/completions', completion_window: '24h', input_file_id: input.id } as const
  return statusOf(sdk.batches.create(params))
}

t.test('F-A8 a batch is refused by a budget where no price of its requests is declared', async t => {
  const gateway = await serving(t, FILES, 'budget: 1 USD/day')
  t.equal(await batchOf(sdkOf(gateway), 2), 403)
  t.strictSame(await charged(gateway), [])
})

t.test('F-A8 each request of a batch costs its declared price, and one that is over the budget is refused', async t => {
  const prices = FILES.replace('prices: {', 'prices: { sim/batch: { request: 0.10 },')
  const gateway = await serving(t, prices, 'budget: 0.55 USD/day')
  const sdk = sdkOf(gateway)
  t.equal(await batchOf(sdk, 6), 429)
  t.equal(await batchOf(sdk, 3), 200)
  t.equal(await batchOf(sdk, 3), 429, '0.25 USD are left')
  t.equal(await batchOf(sdk, 2), 200)
  const records = await charged(gateway)
  t.strictSame(
    records.map(({ route, cost, units }) => [route, cost, units]),
    [
      ['POST /v1/batches', 300_000, { request: 3 }],
      ['POST /v1/batches', 200_000, { request: 2 }],
    ],
  )
})

t.test('F-A8 a batch whose file came in parts is refused by a budget, since its requests were not counted', async t => {
  const prices = FILES.replace('prices: {', 'prices: { sim/batch: { request: 0.10 },')
  const gateway = await serving(t, prices, 'budget: 0.55 USD/day')
  const sdk = sdkOf(gateway)
  const text = lines(2)
  const mime = { bytes: text.length, filename: 'in.jsonl', mime_type: 'application/jsonl', purpose: 'batch' } as const
  const { id } = await sdk.uploads.create(mime)
  const part = await sdk.uploads.parts.create(id, { data: await toFile(Buffer.from(text), 'a') })
  const { file } = await sdk.uploads.complete(id, { part_ids: [part.id] })
  const params = { endpoint: '/v1/chat/completions', completion_window: '24h', input_file_id: file?.id ?? '' } as const
  t.equal(await statusOf(sdk.batches.create(params)), 403)
  t.strictSame(await charged(gateway), [])
})

const MESSAGES = `upstreams: { sim: { kind: simulator-messages } }
models: { sim-messages: sim }
prices: { sim-messages: { input: 1.00, output: 2.00 } @BATCH@ }
`
const batchOfMessages = (gateway: TestGateway, count: number): Promise<number | undefined> => {
  const params = { model: 'sim-messages', max_tokens: 8, messages: [{ role: 'user' as const, content: 'a' }] }
  const requests = Array.from({ length: count }, (_, at) => ({ custom_id: `r${at}`, params }))
  return statusOf(anthropicOf(gateway).messages.batches.create({ requests }))
}

t.test('F-A8 a batch of messages costs the declared price of each, or is refused', async t => {
  const unpriced = await serving(t, MESSAGES.replace('@BATCH@', ''), 'budget: 1 USD/day')
  t.equal(await batchOfMessages(unpriced, 2), 403)
  const yaml = MESSAGES.replace('@BATCH@', ', sim/batch: { request: 0.10 }')
  const gateway = await serving(t, yaml, 'budget: 0.55 USD/day')
  t.equal(await batchOfMessages(gateway, 6), 402)
  t.equal(await batchOfMessages(gateway, 5), 200)
  t.equal(await batchOfMessages(gateway, 1), 402)
  const records = await charged(gateway)
  t.match(records, [{ route: 'POST /v1/messages/batches', cost: 500_000, units: { request: 5 } }])
  t.equal(records.length, 1)
})

// ── responses in the background

const BACKGROUND = `upstreams: { up: { base: "@ORIGIN@", speaks: { chat: POST /v1/chat/completions } } }
models: { m: up }
prices: { m: { input: 2.00, output: 8.00 } }
`
const USAGE = { prompt_tokens: 100, completion_tokens: 50, total_tokens: 150 }

/** Polls a response, more often than it needs, to its end. */
async function endOf(sdk: OpenAI, id: string): Promise<string | undefined> {
  for (;;) {
    const { status } = await sdk.responses.retrieve(id)
    if (status !== 'queued' && status !== 'in_progress') return status
  }
}

t.test('F-A8 a response in the background is charged once, by its run; polling it is free', async t => {
  const up = await startRawUpstream(t)
  const event = (more: object): string =>
    `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', ...more })}\n\n`
  up.answer(
    stream([
      event({ choices: [{ index: 0, delta: { content: 'hello' }, finish_reason: null }] }),
      event({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }),
      event({ choices: [], usage: USAGE }),
      DONE,
    ]),
  )
  const gateway = await serving(t, BACKGROUND.replace('@ORIGIN@', up.origin), 'requests: 2/day, budget: 0.01 USD/day')
  const sdk = sdkOf(gateway)
  const ask = (most: number): Promise<OpenAI.Responses.Response> =>
    sdk.responses.create({ model: 'm', input: 'a', background: true, max_output_tokens: most })
  const { id } = await ask(100)
  t.equal(await endOf(sdk, id), 'completed')
  const large = await ask(2000)
  t.equal(await endOf(sdk, large.id), 'failed', 'its run is refused')
  t.match((await sdk.responses.retrieve(large.id)).error?.message ?? '', /quota/)
  t.equal(await statusOf(ask(1)), 429, 'two requests a day')
  t.equal(up.requests.items.length, 1)
  const records = await charged(gateway)
  t.match(records, [{ cost: 100 * 2 + 50 * 8, units: { input: 100, output: 50 }, outcome: 'ok' }])
  t.equal(records.length, 1)
})

// ── tasks of images

const IMAGINE = `upstreams: { up: { kind: simulator-imagine, tasks: { poll: { every: 20ms } } } }
models: { midjourney: up }
prices: { midjourney: { image: 0.10 } }
`
const imagine = (gateway: TestGateway): ReturnType<TestGateway['request']> =>
  gateway.request('/mj/submit/imagine', { body: { prompt: 'A lighthouse', base64Array: [] } })

t.test('F-A8 /mj says in its own words that a rate is met', async t => {
  const gateway = await serving(t, IMAGINE, 'requests: 1/day')
  t.match((await imagine(gateway)).json(), { code: 1 })
  const refused = await imagine(gateway)
  t.equal(refused.status, 429, refused.text)
  t.match(refused.json(), { code: 23, description: /Rate limit/ })
  t.ok(Number(refused.header('retry-after')) > 0)
})

t.test('F-A8 /mj says in its own words that a budget is spent, and polling is free', async t => {
  const gateway = await serving(t, IMAGINE, 'budget: 0.15 USD/day')
  const { result } = (await imagine(gateway)).json() as { result: string }
  const refused = await imagine(gateway)
  t.match(refused.json(), { code: 4, description: 'quota_not_enough' })
  for (;;) {
    const { status } = (await gateway.request(`/mj/task/${result}/fetch`)).json() as { status: string }
    if (status === 'SUCCESS') break
  }
  const records = await charged(gateway)
  t.match(records, [{ cost: 100_000, units: { image: 1 }, outcome: 'ok' }])
  t.equal(records.length, 1)
})

t.test('a task with a price by tokens, which its upstream does not report, costs what was reserved', async t => {
  const gateway = await serving(
    t,
    IMAGINE.replace('image: 0.10', 'input: 10.00, output: 40.00'),
    'budget: 0.50 USD/day',
  )
  const { result } = (await imagine(gateway)).json() as { result: string }
  for (;;) {
    const { status } = (await gateway.request(`/mj/task/${result}/fetch`)).json() as { status: string }
    if (status === 'SUCCESS') break
  }
  t.match((await imagine(gateway)).json(), { code: 4, description: 'quota_not_enough' })
  const records = await charged(gateway)
  t.match(records, [{ units: { image: 1, output: 8192 }, estimated: true, outcome: 'ok' }])
  t.ok((records[0]?.cost ?? 0) >= 8192 * 40, `${records[0]?.cost}`)
  t.equal(records.length, 1)
})

// ── several images

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const IMAGES = `upstreams: { up: { kind: gemini-native, base: "@ORIGIN@", secret: { env: UPSTREAM_KEY }, speaks: { predict: off } } }
models: { m: up }
prices: { m: { image: 0.04 } }
`

async function images(t: Test, limits: string): Promise<{ readonly gateway: TestGateway; readonly up: RawUpstream }> {
  const up = await startRawUpstream(t)
  const candidate = {
    index: 0,
    content: { role: 'model', parts: [{ inlineData: { mimeType: 'image/png', data: PNG } }] },
  }
  const usageMetadata = { promptTokenCount: 10, candidatesTokenCount: 20, totalTokenCount: 30 }
  const answer = json({ candidates: [{ ...candidate, finishReason: 'STOP' }], usageMetadata })
  up.answer(answer, answer, answer)
  return { gateway: await serving(t, IMAGES.replace('@ORIGIN@', up.origin), limits), up }
}

t.test('F-A8 several images that take a call each are settled once each, and fit a budget for just these', async t => {
  const { gateway, up } = await images(t, 'budget: 0.12 USD/day')
  const body = { model: 'm', prompt: 'A harbour', n: 3 }
  const answer = await gateway.request('/v1/images/generations', { body })
  t.equal(answer.status, 200, answer.text)
  t.equal((answer.json() as { data: unknown[] }).data.length, 3)
  t.equal((await gateway.request('/v1/images/generations', { body: { ...body, n: 1 } })).status, 429)
  t.equal(up.requests.items.length, 3)
  const records = await charged(gateway)
  t.strictSame(records.map(({ id }) => id.slice(-2)).sort(), ['/1', '/2', '/3'])
  for (const { cost, units } of records) t.match({ cost, units }, { cost: 40_000, units: { image: 1 } })
})

t.test('F-A8 several images that a budget does not cover are refused whole', async t => {
  const { gateway, up } = await images(t, 'budget: 0.11 USD/day')
  const body = { model: 'm', prompt: 'A harbour', n: 3 }
  t.equal((await gateway.request('/v1/images/generations', { body })).status, 429)
  t.equal(up.requests.items.length, 0)
})

for (const [what, speaks, cost] of [
  ['sent as it is, costs', 'predict', [160_000]],
  ['translated, asks for', 'generate', [40_000, 40_000, 40_000, 40_000]],
] as const)
  t.test(`:predict without a number of images, ${what} four`, async t => {
    const ask = async (limits: string): Promise<TestGateway> => {
      const { gateway, up } = await images(t, limits)
      if (speaks === 'generate') return gateway
      up.answer(json({ predictions: [1, 2, 3, 4].map(() => ({ mimeType: 'image/png', bytesBase64Encoded: PNG })) }))
      return serving(t, IMAGES.replace('@ORIGIN@', up.origin).replace(', speaks: { predict: off }', ''), limits)
    }
    const body = { instances: [{ prompt: 'A harbour' }] }
    const small = await ask('budget: 0.15 USD/day')
    t.equal((await small.request('/v1beta/models/m:predict', { body })).status, 429)
    const gateway = await ask('budget: 0.16 USD/day')
    const answer = await gateway.request('/v1beta/models/m:predict', { body })
    t.equal((answer.json() as { predictions?: unknown[] }).predictions?.length, 4, answer.text)
    t.strictSame(
      (await charged(gateway)).map(one => one.cost),
      cost,
    )
  })

t.test('F-A8 a form with many images reserves each of them, as JSON does', async t => {
  const up = await startRawUpstream(t)
  const answer = json({ created: 1, data: [{ b64_json: PNG }], usage: { input_tokens: 1000, output_tokens: 0 } })
  up.answer(answer)
  const yaml = `upstreams: { up: { base: "${up.origin}", speaks: { images.edits: POST /v1/images/edits } } }
models: { m: up }
prices: { m: { input: 4.00, output: 0 } }
`
  // It covers 14 images of 16,384 tokens and their form, and not 16.
  const gateway = await serving(t, yaml, 'budget: 1 USD/day')
  const edit = async (count: number): Promise<number | undefined> => {
    const image = Array.from({ length: count }, (_, at) => new File([new Uint8Array(20_000)], `${at}.png`))
    return statusOf(sdkOf(gateway).images.edit({ model: 'm', prompt: 'A harbour', image }))
  }
  t.equal(await edit(16), 429)
  const images = Array.from({ length: 16 }, () => ({ image_url: `data:image/png;base64,${'QUJD'.repeat(5000)}` }))
  const refused = await gateway.request('/v1/images/edits', { body: { model: 'm', prompt: 'A harbour', images } })
  t.equal(refused.status, 429, refused.text)
  t.equal(up.requests.items.length, 0)
  t.equal(await edit(14), 200)
})

// ── what upstreams count themselves

const SEARCHED = `upstreams:
  first: { base: "@", speaks: { rerank: POST /v1/rerank } }
  second: { base: "@", speaks: { rerank.v2: POST /v2/rerank } }
  blocks: { base: "@", speaks: { messages: POST /v1/messages } }
models: { first: first, second: second, blocks: { upstream: blocks, max_output: 64 } }
prices:
  first: &ranks { search: 0.01 }
  second: *ranks
  blocks: { input: 1.00, output: 1.00, search: 0.01 }
`

t.test('ranks are charged by the searches that the upstream counted, no matter who ranks', async t => {
  const up = await startRawUpstream(t)
  const gateway = await serving(t, SEARCHED.replaceAll('@', up.origin), 'budget: 1 USD/day')
  const results = [{ index: 0, relevance_score: 0.5 }]
  for (const path of ['/v1/rerank', '/v2/rerank'])
    for (const model of ['first', 'second']) {
      up.answer(json({ id: 'r', results, meta: { billed_units: { search_units: 5 } } }))
      const answer = await gateway.request(path, { body: { model, query: 'a', documents: ['b'] } })
      t.equal(answer.status, 200, answer.text)
    }
  t.match(
    await charged(gateway),
    Array.from({ length: 4 }, () => ({ units: { search: 5 }, cost: 50_000 })),
  )
})

t.test('searches of the web that an answer reports have their price, relayed and translated', async t => {
  const up = await startRawUpstream(t)
  const gateway = await serving(t, SEARCHED.replaceAll('@', up.origin), 'budget: 1 USD/day')
  const used = (count: number) => ({
    ...{ input_tokens: 10, output_tokens: 5 },
    server_tool_use: { web_search_requests: count },
  })
  const message = { id: 'm', type: 'message', role: 'assistant', model: 'b', content: [], stop_reason: null }
  const done = { ...message, content: [{ type: 'text', text: 'a' }], stop_reason: 'end_turn', usage: used(3) }
  const events = [
    { type: 'message_start', message: { ...message, usage: used(0) } },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'a' } },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: used(3) },
    { type: 'message_stop' },
  ].map(event => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
  const headers = { 'anthropic-version': '2023-06-01' }
  for (const path of ['/v1/messages', '/v1/chat/completions'])
    for (const streams of [false, true]) {
      up.answer(streams ? stream(events) : json(done))
      const body = { model: 'blocks', max_tokens: 64, stream: streams, messages: [{ role: 'user', content: 'a' }] }
      t.equal((await gateway.request(path, { body, headers })).status, 200)
    }
  t.match(
    await charged(gateway),
    Array.from({ length: 4 }, () => ({ units: { input: 10, output: 5, search: 3 }, cost: 30_015 })),
  )
})

t.test('a price by seconds of sound that no one counted is estimated, also beside tokens that were', async t => {
  const up = await startRawUpstream(t)
  const yaml = `upstreams: { up: { base: "${up.origin}", speaks: { transcriptions: POST /v1/audio/transcriptions } } }
models: { m: up }
prices: { m: { audio_second: 0.01, input: 1.00, output: 10.00 } }
`
  const gateway = await serving(t, yaml, 'budget: 1 USD/day')
  const tokens = { type: 'tokens', input_tokens: 100, output_tokens: 20, total_tokens: 120 }
  for (const usage of [tokens, { ...tokens, seconds: 7 }]) {
    up.answer(json({ text: 'a', usage }))
    const file = await toFile(Buffer.alloc(40_000), 'a.mp3')
    await sdkOf(gateway).audio.transcriptions.create({ model: 'm', file })
  }
  const records = await charged(gateway)
  t.strictSame(
    records.map(({ units, estimated }) => [units.audio_second, estimated]),
    [
      [10, true],
      [7, undefined],
    ],
  )
})

// ── prices that do not fit

t.test(
  'F-A8 a price without a unit of a route does not count there: a budget refuses, and without one the ledger says so',
  async t => {
    const films = FILES.replace('{ request: 1.00 }', '{ video_second: 0.10 }')
    const ask = (gateway: TestGateway): Promise<unknown> =>
      sdkOf(gateway).chat.completions.create({ model: 'sim-text', messages: [{ role: 'user', content: 'a' }] })
    t.equal(await statusOf(ask(await serving(t, films, 'budget: 1 USD/day'))), 403)
    const free = await serving(t, films, 'requests: 5/day')
    t.equal(await statusOf(ask(free)), 200)
    t.match(await charged(free), [{ cost: 0, unpriced: true }])
  },
)

t.test('F-A8 images with a price by tokens, of which the upstream reports none, cost what was reserved', async t => {
  const up = await startRawUpstream(t)
  up.answer(json({ created: 1, data: [{ b64_json: PNG }] }))
  const yaml = `upstreams: { up: { base: "${up.origin}", speaks: { images.generations: POST /v1/images/generations } } }
models: { m: up }
prices: { m: { input: 10.00, output: 40.00 } }
`
  const gateway = await serving(t, yaml, 'budget: 1 USD/day')
  const answer = await gateway.request('/v1/images/generations', { body: { model: 'm', prompt: 'A harbour' } })
  t.equal(answer.status, 200, answer.text)
  const [record] = await charged(gateway)
  t.equal(record?.estimated, true)
  t.equal(record?.units.output, 8192)
  t.ok((record?.cost ?? 0) >= 8192 * 40, `${record?.cost}`)
})
