import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { GoogleGenAI, JobState } from '@google/genai'
import t, { type Test } from 'tap'
import { proveNoLeak } from '../helpers/canaries.js'
import { startTestGateway, type TestGateway } from '../helpers/gateway.js'

// Files and batches of the native interface, by its SDK, against the simulator.

const BOB = 'bob-secret-key-of-some-length'
const KEYS = 'keys: { ann: { secret: { env: CALLER_KEY } }, bob: { secret: { env: BOB_KEY } } }'
const YAML = `version: 1\n${KEYS}\nupstreams: { sim: { kind: simulator } }\nmodels: { "sim-*": sim }\n`

interface Stage {
  readonly gateway: TestGateway
  readonly ann: GoogleGenAI
  readonly bob: GoogleGenAI
}

async function stage(t: Test): Promise<Stage> {
  const gateway = await startTestGateway(t, YAML, { env: { BOB_KEY: BOB } })
  const client = (apiKey: string): GoogleGenAI => new GoogleGenAI({ apiKey, httpOptions: { baseUrl: gateway.origin } })
  return { gateway, ann: client(gateway.key), bob: client(BOB) }
}

/** The status with which a request is refused. */
const statusOf = async (request: Promise<unknown>): Promise<number | undefined> =>
  request.then(
    () => 200,
    (error: { status?: number }) => error.status,
  )

const TEXT = 'The quick brown fox.\nJumps.'

const upload = (sdk: GoogleGenAI, text = TEXT, displayName = 'fox') =>
  sdk.files.upload({ file: new Blob([text], { type: 'text/plain' }), config: { displayName } })

t.test('SDK: a file is uploaded in pieces, shown, downloaded, read by a model, and deleted', async t => {
  const { gateway, ann } = await stage(t)
  const large = 'x'.repeat(17 * 1024 * 1024)
  const file = await upload(ann, large)
  t.match(file, { displayName: 'fox', mimeType: 'text/plain', sizeBytes: String(large.length), state: 'ACTIVE' })
  const posts = gateway.gateway.simulated.filter(entry => entry.path.startsWith('/upload/'))
  t.equal(posts.length, 4, 'a start and three pieces')
  const lived = Date.parse(file.expirationTime ?? '') - Date.parse(file.createTime ?? '')
  t.equal(lived, 48 * 3_600_000, 'both moments are of one clock')
  const name = file.name ?? ''
  t.same(new Set(Object.keys(await ann.files.get({ name }))), new Set(Object.keys(file)))
  const folder = mkdtempSync(join(tmpdir(), 'download-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  await ann.files.download({ file: name, downloadPath: join(folder, 'file') })
  t.equal(readFileSync(join(folder, 'file'), 'utf8'), large)
  const answer = await ann.models.generateContent({
    model: 'sim-generate',
    contents: [
      { role: 'user', parts: [{ fileData: { fileUri: file.uri ?? '', mimeType: 'text/plain' } }, { text: 'Read' }] },
    ],
  })
  t.ok(answer.text)
  await ann.files.delete({ name })
  t.equal(await statusOf(ann.files.get({ name })), 404)
})

t.test('SDK: a file from a path, and a list of one’s own files page by page', async t => {
  const { ann, bob } = await stage(t)
  const folder = mkdtempSync(join(tmpdir(), 'upload-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  writeFileSync(join(folder, 'fox.txt'), TEXT)
  const names: (string | undefined)[] = []
  for (let at = 0; at < 3; at++) {
    names.push((await ann.files.upload({ file: join(folder, 'fox.txt'), config: { mimeType: 'text/plain' } })).name)
  }
  const theirs = await upload(bob)
  const listed: (string | undefined)[] = []
  for await (const file of await ann.files.list({ config: { pageSize: 2 } })) listed.push(file.name)
  t.same(listed, names.toReversed())
  t.same(
    (await bob.files.list()).page.map(file => file.name),
    [theirs.name],
  )
})

t.test('F-A4 a file of another caller is unknown, however it is named', async t => {
  const { gateway, ann, bob } = await stage(t)
  const { name = '', uri = '' } = await upload(ann)
  t.equal(await statusOf(bob.files.get({ name })), 404)
  t.equal(await statusOf(bob.files.delete({ name })), 404)
  const before = gateway.gateway.simulated.length
  const id = name.slice('files/'.length)
  const { host } = new URL(uri)
  for (const fileUri of [
    uri,
    name,
    `/${name}`,
    `${uri}?x=1`,
    `${uri}#x`,
    uri.replace('/files/', '/%66iles/'),
    uri.replace('/v1beta/', '/v1beta//'),
    uri.replace('/v1beta/', '/v1alpha/'),
    `http://${host}/v1beta/x/../files/${id}`,
    `http://${host}/anything/${id}`,
    `http://user@${host}/v1beta/files/${id}`,
    `https://elsewhere.example/v1beta/files/${id}`,
    ` ${uri}`,
  ]) {
    const contents = [{ role: 'user', parts: [{ fileData: { fileUri, mimeType: 'text/plain' } }, { text: 'Read' }] }]
    t.equal(await statusOf(bob.models.generateContent({ model: 'sim-generate', contents })), 404, fileUri)
  }
  t.equal(gateway.gateway.simulated.length, before, 'no upstream has heard of it')
  const contents = [
    { role: 'user', parts: [{ fileData: { fileUri: 'https://video.example/watch?v=1' } }, { text: 'Watch' }] },
  ]
  t.equal(
    await statusOf(bob.models.generateContent({ model: 'sim-generate', contents })),
    200,
    'what is no file passes',
  )
})

t.test('the address of a file opens nothing to someone without a key of the gateway’s', async t => {
  const { ann, gateway } = await stage(t)
  const { uri = '' } = await upload(ann)
  const { origin } = new URL(uri)
  for (const address of [uri, `${origin}/v1beta/files`, `${origin}/simulator/requests`]) {
    t.equal((await fetch(address, { headers: { 'x-simulator-key': gateway.key } })).status, 401, address)
  }
  const names = gateway.gateway.simulated.flatMap(entry => [...Object.keys(entry.headers), ...entry.rawHeaders])
  t.notOk(names.includes('x-simulator-key'), 'and what was received shows no key')
})

t.test('an upload that broke off continues where the upstream says that it is', async t => {
  const { gateway } = await stage(t)
  const send = (path: string, body: string, headers: Readonly<Record<string, string>>) =>
    gateway.request(path, { body, headers: { 'content-type': 'application/json', ...headers } })
  const start = (body: string) =>
    send('/upload/v1beta/files', body, { 'x-goog-upload-protocol': 'resumable', 'x-goog-upload-command': 'start' })
  const { pathname, search } = new URL(String((await start('{"file":{}}')).header('x-goog-upload-url')))
  const ask = (command: string, offset = 0, piece = '') =>
    send(pathname + search, piece, { 'x-goog-upload-command': command, 'x-goog-upload-offset': String(offset) })
  t.equal((await ask('upload', 0, 'The quick ')).header('x-goog-upload-status'), 'active')
  const asked = await ask('query')
  t.equal(asked.header('x-goog-upload-size-received'), '10')
  t.equal((await ask('upload', 3, 'fox')).status, 400)
  const last = await ask('upload, finalize', 10, 'brown fox.')
  t.equal(last.header('x-goog-upload-status'), 'final')
  t.match(last.json(), { file: { sizeBytes: '20' } })
  t.equal((await start('{')).status, 400)
})

t.test('what is not a file is reported by a name that clients know', async t => {
  const { gateway } = await stage(t)
  const answer = await gateway.request('/v1beta/files/nope', { method: 'GET' })
  t.equal(answer.status, 404)
  t.match(answer.json(), { error: { message: "No such file: 'nope'." } })
})

t.test('SDK: batches, with their requests in them and in a file', async t => {
  const { ann, bob } = await stage(t)
  const contents = [{ role: 'user', parts: [{ text: 'hello' }] }]
  const batch = await ann.batches.create({ model: 'sim-generate', src: [{ contents }], config: { displayName: 'b' } })
  t.equal(batch.state, JobState.JOB_STATE_PENDING)
  const name = batch.name ?? ''
  t.equal(await statusOf(bob.batches.get({ name })), 404)
  t.equal(await statusOf(bob.batches.cancel({ name })), 404)
  t.equal((await ann.batches.get({ name })).state, JobState.JOB_STATE_RUNNING)
  const done = await ann.batches.get({ name })
  t.equal(done.state, JobState.JOB_STATE_SUCCEEDED)
  t.ok(done.dest?.inlinedResponses?.[0]?.response?.candidates)
  const lines = Buffer.from(`${JSON.stringify({ key: 'one', request: { contents } })}\n`)
  const input = await ann.files.upload({ file: new Blob([lines], { type: 'application/jsonl' }) })
  const src = { fileName: input.name ?? '' }
  t.equal(await statusOf(bob.batches.create({ model: 'sim-generate', src })), 404)
  const second = await ann.batches.create({ model: 'sim-generate', src })
  await ann.batches.get({ name: second.name ?? '' })
  const { dest } = await ann.batches.get({ name: second.name ?? '' })
  const folder = mkdtempSync(join(tmpdir(), 'download-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  await ann.files.download({ file: dest?.fileName ?? '', downloadPath: join(folder, 'out') })
  t.match(JSON.parse(readFileSync(join(folder, 'out'), 'utf8')), { key: 'one', response: { candidates: [{}] } })
  const listed = (await ann.batches.list()).page.map(one => one.name)
  t.same(listed, [second.name, batch.name])
  t.same((await bob.batches.list()).page, [])
  await ann.batches.delete({ name })
  t.equal(await statusOf(ann.batches.get({ name })), 404)
  const third = await ann.batches.create({ model: 'sim-generate', src: [{ contents }] })
  await ann.batches.cancel({ name: third.name ?? '' })
  t.equal((await ann.batches.get({ name: third.name ?? '' })).state, JobState.JOB_STATE_CANCELLED)
})

proveNoLeak(t)
