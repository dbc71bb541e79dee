import OpenAI, { toFile } from 'openai'
import t, { type Test } from 'tap'
import type { LedgerRecord } from '../../src/core/ledger.js'
import { json } from '../helpers/answers.js'
import { type GatewayOptions, startTestGateway, type TestGateway } from '../helpers/gateway.js'
import { withResolvers } from '../helpers/journal.js'
import { ledgerRecords } from '../helpers/ledger-records.js'
import { meter, withStage } from '../helpers/metered.js'
import { type RawUpstream, type Script, startRawUpstream } from '../helpers/raw-upstream.js'

/** What a batch costs is not for its client to choose: by files named twice, parts that look like none, or by leaving. */

async function serving(t: Test, yaml: string, options: GatewayOptions = {}): Promise<TestGateway> {
  const key =
    'keys: { caller: { secret: { env: CALLER_KEY }, models: ["*"], limits: { budget: 0.55 USD/day } }, other: { secret: { env: OTHER_KEY } } }'
  const env = { OTHER_KEY: 'key-of-another-caller-0123' }
  return startTestGateway(t, `version: 1\nstore: { type: file, path: ./data }\n${key}\n${yaml}`, { env, ...options })
}

async function charged({ gateway }: TestGateway): Promise<readonly LedgerRecord[]> {
  const { plan } = gateway
  await gateway.close()
  return ledgerRecords({ gateway: { plan } })
}

const SIMULATED =
  'upstreams: { sim: { kind: simulator } }\nmodels: { "sim-*": sim }\nprices: { sim/batch: { request: 0.10 }, "sim-*": { request: 1.00 } }\n'
const sdkOf = ({ origin, key }: TestGateway): OpenAI =>
  new OpenAI({ apiKey: key, baseURL: `${origin}/v1`, maxRetries: 0 })

const LINE = { method: 'POST', url: '/v1/chat/completions', body: { model: 'sim-text', messages: [] } }
const lines = (count: number): string =>
  Array.from({ length: count }, (_, at) => JSON.stringify({ custom_id: `r${at}`, ...LINE })).join('\n')

async function fileOf(sdk: OpenAI, count: number): Promise<string> {
  const file = await toFile(Buffer.from(lines(count)), 'in.jsonl')
  return (await sdk.files.create({ file, purpose: 'batch' })).id
}

/** A file that came in parts: its lines were not counted. */
async function uncountedFile(sdk: OpenAI): Promise<string> {
  const text = lines(2)
  const mime = { bytes: text.length, filename: 'in.jsonl', mime_type: 'application/jsonl', purpose: 'batch' } as const
  const { id } = await sdk.uploads.create(mime)
  const part = await sdk.uploads.parts.create(id, { data: await toFile(Buffer.from(text), 'a') })
  return (await sdk.uploads.complete(id, { part_ids: [part.id] })).file?.id ?? ''
}

const REST = '"endpoint":"/v1/chat/completions","completion_window":"24h"'
const batchOf = async (gateway: TestGateway, members: string, path = '/v1/batches'): Promise<number> =>
  (await gateway.request(path, { body: `{${members},${REST}}` })).status

t.test('F-A8 a batch that names its file twice is refused, in each spelling that some upstream reads', async t => {
  const gateway = await serving(t, SIMULATED)
  const sdk = sdkOf(gateway)
  const [large, small, uncounted] = [await fileOf(sdk, 6), await fileOf(sdk, 1), await uncountedFile(sdk)]
  const member = (id: string, name = 'input_file_id'): string => `"${name}":"${id}"`
  for (const ids of [
    [large, small, large],
    [small, uncounted],
  ])
    t.equal(await batchOf(gateway, ids.map(id => member(id)).join(',')), 400)
  for (const name of ['Input_File_ID', 'inputFileId', 'input\\u005ffile_id'])
    t.equal(await batchOf(gateway, `${member(small)},${member(large, name)}`), 400, name)
  t.equal(await batchOf(gateway, member(small)), 200)
  t.match(await charged(gateway), [{ cost: 100_000, units: { request: 1 } }])
})

t.test('F-A8 where a batch can name several files, each counts, and one that was not counted is refused', async t => {
  const route =
    '{ protocol: batches, resource: { kind: batch, action: create }, requires_all_models: true, body: json, references: { file: [input_file_id, metadata.*] } }'
  const routes = `routes: { POST /v1/own-batches: ${route} }\n`
  const gateway = await serving(t, `${SIMULATED}${routes}`)
  const sdk = sdkOf(gateway)
  const [large, small, uncounted] = [await fileOf(sdk, 3), await fileOf(sdk, 1), await uncountedFile(sdk)]
  const both = (id: string): string => `"input_file_id":"${small}","metadata":{"a":"${id}","a":"${small}"}`
  t.equal(await batchOf(gateway, both(uncounted), '/v1/own-batches'), 403)
  t.equal(await batchOf(gateway, both(large), '/v1/own-batches'), 200)
  t.match(await charged(gateway), [{ cost: 400_000, units: { request: 4 } }])
})

// ── files in forms

/** A form whose file may be read in several ways: `parts` are the heads of its parts, and what they hold. */
const formOf = (...parts: readonly (readonly [head: string, content: string])[]): string =>
  [
    ...parts.map(([head, content]) => `--B\r\ncontent-disposition: form-data; ${head}\r\n\r\n${content}\r\n`),
    '--B--\r\n',
  ].join('')

t.test('F-A8 a file that some upstream reads in another way than the gateway is not counted', async t => {
  const up = await startRawUpstream(t)
  const speaks = 'files: POST /v1/files, batches: POST /v1/batches'
  const yaml = `upstreams: { up: { base: "${up.origin}", speaks: { ${speaks} } } }\nmodels: { m: up }\nprices: { up/batch: { request: 0.10 }, m: { request: 1.00 } }\n`
  const gateway = await serving(t, yaml)
  const purpose = ['name="purpose"', 'batch'] as const
  const dummy = ['name="dummy"; filename="n"', 'x'] as const
  const sound = ['name="file"; filename="in.jsonl"', lines(2)] as const
  let files = 0
  for (const [status, parts] of [
    [403, [dummy, purpose, [`name="file"; filename*=UTF-8''large.jsonl`, lines(9)]]],
    [403, [dummy, purpose, ['name="file"\r\ncontent-type: application/octet-stream', lines(9)]]],
    [403, [purpose, [`${sound[0]}\r\ncontent-transfer-encoding: base64`, Buffer.from(lines(9)).toString('base64')]]],
    [200, [purpose, sound]],
  ] as const) {
    const id = `file-${++files}`
    up.answer(json({ id, object: 'file' }), json({ id: 'batch_1', object: 'batch' }))
    const headers = { 'content-type': 'multipart/form-data; boundary=B' }
    const uploaded = await gateway.request('/v1/files', { headers, body: formOf(...parts) })
    t.equal(uploaded.status, 200, uploaded.text)
    t.equal(await batchOf(gateway, `"input_file_id":"${id}"`), status, parts.map(([head]) => head).join(', '))
  }
  t.match(await charged(gateway), [{ cost: 200_000, units: { request: 2 } }])
})

// ── clients that leave

const BATCH = { id: 'msgbatch_1', type: 'message_batch', processing_status: 'in_progress' }
const REQUESTS = ['a', 'b', 'c'].map(id => ({
  custom_id: id,
  params: { model: 'm', max_tokens: 8, messages: [{ role: 'user', content: 'a' }] },
}))

const LEAVING = `upstreams:
  up:
    base: "@"
    on_client_abort: WORD
    speaks:
      files: POST /v1/files
      batches: POST /v1/batches
      messages: POST /v1/messages
      message-batches: POST /v1/messages/batches
      images.generations: POST /v1/images/generations
models: { m: up }
prices: { up/batch: { request: 0.10 }, m: { image: 0.04, request: 0.01 } }
`

interface Leaving extends ReturnType<typeof meter> {
  readonly up: RawUpstream
  readonly gateway: TestGateway
}

async function leaving(t: Test, word: 'cancel' | 'drain'): Promise<Leaving> {
  const up = await startRawUpstream(t)
  const metered = meter()
  const yaml = LEAVING.replace('@', up.origin).replace('WORD', word)
  return { ...metered, up, gateway: await serving(t, yaml, { features: withStage(metered.stage) }) }
}

/** The client leaves once the upstream has its request; the upstream answers when its call has settled. */
async function leave({ up, gateway, settled }: Leaving, path: string, body: unknown, answer: Script): Promise<void> {
  const { promise: left, resolve } = withResolvers<void>()
  up.answer(async peer => {
    await left
    await answer(peer)
  })
  const [asked, ended] = [up.requests.items.length + 1, settled.items.length + 1]
  const client = await gateway.open(path, { body })
  await up.requests.count(asked)
  client.socket.destroy()
  await settled.count(ended)
  resolve()
  await gateway.log.find(({ msg, id }) => msg === 'request' && id === settled.items.at(-1))
}

for (const word of ['cancel', 'drain'] as const)
  t.test(`F-A8 a batch whose client leaves before its answer is charged, and belongs to its key (${word})`, async t => {
    const stage = await leaving(t, word)
    const { gateway, up } = stage
    up.answer(json({ id: 'file-1', object: 'file' }))
    const headers = { 'content-type': 'multipart/form-data; boundary=B' }
    const form = formOf(['name="purpose"', 'batch'], ['name="file"; filename="in.jsonl"', lines(2)])
    await gateway.request('/v1/files', { headers, body: form })
    const ofFile = `{"input_file_id":"file-1",${REST}}`
    await leave(stage, '/v1/batches', ofFile, json({ id: 'batch_1', object: 'batch', status: 'validating' }))
    await leave(stage, '/v1/messages/batches', { requests: REQUESTS }, json(BATCH))
    for (const [path, id] of [
      ['/v1/batches', 'batch_1'],
      ['/v1/messages/batches', BATCH.id],
    ] as const)
      t.match((await gateway.request(path)).json(), { data: [{ id }] })
    const records = await charged(gateway)
    t.match(
      records.map(({ route, cost, units, outcome }) => ({ route, cost, units, outcome })),
      [
        { route: 'POST /v1/batches', cost: 200_000, units: { request: 2 }, outcome: 'cancelled' },
        { route: 'POST /v1/messages/batches', cost: 300_000, units: { request: 3 }, outcome: 'cancelled' },
      ],
    )
    t.equal(records.length, 2)
  })

t.test('F-A8 a batch that the upstream refuses after its client has gone is free', async t => {
  const stage = await leaving(t, 'cancel')
  const refusal = json({ type: 'error', error: { type: 'api_error', message: 'Busy.' } }, { status: 500 })
  await leave(stage, '/v1/messages/batches', { requests: REQUESTS }, refusal)
  t.match((await stage.gateway.request('/v1/messages/batches')).json(), { data: [] })
  t.strictSame(await charged(stage.gateway), [])
})

t.test('F-A8 images that are read to their end after their client has gone have their price', async t => {
  const stage = await leaving(t, 'drain')
  const answer = json({ created: 1, data: [{ b64_json: 'iVBORw0KGgo=' }, { b64_json: 'iVBORw0KGgo=' }] })
  await leave(stage, '/v1/images/generations', { model: 'm', prompt: 'A harbour', n: 2 }, answer)
  await leave(stage, '/v1/images/generations', { model: 'm', prompt: 'A harbour', n: 2 }, json({}, { status: 500 }))
  await leave(
    stage,
    '/v1/images/generations',
    { model: 'm', prompt: 'A harbour', n: 2 },
    json({ error: { message: 'no' } }),
  )
  const records = await charged(stage.gateway)
  t.match(records, [{ cost: 90_000, units: { image: 2, request: 1 } }, { cost: 0 }], 'an error costs its input at most')
  t.equal(records.length, 2)
})
