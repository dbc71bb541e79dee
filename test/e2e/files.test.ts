import OpenAI, { toFile } from 'openai'
import t, { type Test } from 'tap'
import { proveNoLeak } from '../helpers/canaries.js'
import { startTestGateway, type TestGateway } from '../helpers/gateway.js'

// Files and batches of the compatible interface, by its SDK, against the simulator.

const BOB = 'bob-secret-key-of-some-length'
const KEYS = 'keys: { ann: { secret: { env: CALLER_KEY } }, bob: { secret: { env: BOB_KEY } } }'
const YAML = `version: 1\n${KEYS}\nupstreams: { sim: { kind: simulator } }\nmodels: { "sim-*": sim }\n`

interface Stage {
  readonly gateway: TestGateway
  readonly ann: OpenAI
  readonly bob: OpenAI
}

async function stage(t: Test): Promise<Stage> {
  const gateway = await startTestGateway(t, YAML, { env: { BOB_KEY: BOB } })
  const client = (apiKey: string): OpenAI => new OpenAI({ apiKey, baseURL: `${gateway.origin}/v1`, maxRetries: 0 })
  return { gateway, ann: client(gateway.key), bob: client(BOB) }
}

/** The status with which a request is refused. */
const statusOf = async (request: Promise<unknown>): Promise<number | undefined> =>
  request.then(
    () => 200,
    (error: { status?: number }) => error.status,
  )

const TEXT = 'The quick brown fox.\nJumps.'

const upload = async (sdk: OpenAI, name = 'fox.txt', text = TEXT): Promise<OpenAI.FileObject> =>
  sdk.files.create({ file: await toFile(Buffer.from(text), name), purpose: 'user_data' })

t.test('SDK: a file is uploaded, shown, read and deleted', async t => {
  const { ann } = await stage(t)
  const file = await upload(ann)
  t.match(file, { object: 'file', filename: 'fox.txt', bytes: TEXT.length, purpose: 'user_data' })
  t.same(await ann.files.retrieve(file.id), file)
  const content = await ann.files.content(file.id)
  t.equal(await content.text(), TEXT)
  t.match(await ann.files.delete(file.id), { id: file.id, deleted: true })
  t.equal(await statusOf(ann.files.retrieve(file.id)), 404)
  t.equal(await statusOf(ann.files.content(file.id)), 404)
})

t.test('SDK: a list holds the files of its owner alone, page by page', async t => {
  const { ann, bob } = await stage(t)
  const mine: string[] = []
  for (const name of ['a', 'b', 'c', 'd', 'e']) mine.push((await upload(ann, name, name)).id)
  const theirs = await upload(bob, 'a', 'a')
  const listed: string[] = []
  for await (const file of ann.files.list({ limit: 2 })) listed.push(file.id)
  t.same(listed, mine.toReversed())
  const first = await ann.files.list({ limit: 2, order: 'asc' })
  t.same(
    first.data.map(file => file.id),
    mine.slice(0, 2),
  )
  t.equal(first.has_more, true)
  t.equal((await ann.files.list({ purpose: 'batch' })).data.length, 0)
  t.same(
    (await bob.files.list()).data.map(file => file.id),
    [theirs.id],
  )
})

t.test('SDK: a file comes in parts, and is its owner’s', async t => {
  const { ann, bob } = await stage(t)
  const upload = await ann.uploads.create({
    bytes: 10,
    filename: 'a.txt',
    mime_type: 'text/plain',
    purpose: 'user_data',
  })
  const parts: string[] = []
  for (const text of ['hello', 'world']) {
    const part = await ann.uploads.parts.create(upload.id, { data: await toFile(Buffer.from(text), 'part') })
    parts.push(part.id)
  }
  t.equal(await statusOf(bob.uploads.complete(upload.id, { part_ids: parts })), 404)
  t.equal(await statusOf(bob.uploads.cancel(upload.id)), 404)
  const { status, file } = await ann.uploads.complete(upload.id, { part_ids: parts.toReversed() })
  t.equal(status, 'completed')
  t.equal(await (await ann.files.content(file?.id ?? '')).text(), 'worldhello')
  t.equal(await statusOf(bob.files.content(file?.id ?? '')), 404)
  t.match((await ann.files.list()).data, [{ id: file?.id, filename: 'a.txt', bytes: 10 }], 'a list tells all of it')
})

t.test('SDK: a batch reads an uploaded file and makes others, which belong to its owner', async t => {
  const { ann, bob } = await stage(t)
  const lines = ['sim-text', 'sim-text?status=503'].map((model, index) =>
    JSON.stringify({
      custom_id: `line-${index}`,
      method: 'POST',
      url: '/v1/chat/completions',
      body: { model, messages: [{ role: 'user', content: 'hello' }] },
    }),
  )
  const input = await ann.files.create({
    file: await toFile(Buffer.from(lines.join('\n')), 'in.jsonl'),
    purpose: 'batch',
  })
  const params = { endpoint: '/v1/chat/completions', completion_window: '24h' } as const
  const batch = await ann.batches.create({ ...params, input_file_id: input.id })
  t.match(batch, { object: 'batch', status: 'validating', input_file_id: input.id })
  t.match(await ann.batches.retrieve(batch.id), { status: 'in_progress' })
  t.equal(await statusOf(bob.batches.retrieve(batch.id)), 404)
  t.equal(await statusOf(bob.batches.cancel(batch.id)), 404)
  t.equal(await statusOf(bob.batches.create({ ...params, input_file_id: input.id })), 404)
  const done = await ann.batches.retrieve(batch.id)
  t.match(done, { status: 'completed', request_counts: { total: 2, completed: 1, failed: 1 } })
  const output = await (await ann.files.content(done.output_file_id ?? '')).text()
  t.match(JSON.parse(output), {
    custom_id: 'line-0',
    response: { status_code: 200, body: { object: 'chat.completion' } },
  })
  t.match(await (await ann.files.content(done.error_file_id ?? '')).text(), '"status_code":503')
  t.equal(await statusOf(bob.files.content(done.output_file_id ?? '')), 404)
  t.same(
    (await ann.batches.list()).data.map(({ id, status }) => [id, status]),
    [[batch.id, 'completed']],
  )
  t.same((await bob.batches.list()).data, [])
  const cancelled = await ann.batches.create({ ...params, input_file_id: input.id })
  t.match(await ann.batches.cancel(cancelled.id), { status: 'cancelled' })
})

proveNoLeak(t)
