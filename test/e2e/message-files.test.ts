import Anthropic, { toFile } from '@anthropic-ai/sdk'
import t, { type Test } from 'tap'
import { json } from '../helpers/answers.js'
import { proveNoLeak } from '../helpers/canaries.js'
import { allowFault } from '../helpers/emitted.js'
import { startTestGateway, type TestGateway } from '../helpers/gateway.js'
import { type Answer, type RequestOptions, request } from '../helpers/raw-client.js'
import { startRawUpstream } from '../helpers/raw-upstream.js'

/** Files of the messages protocol, under paths that the compatible interface has too; and who answers where no one serves. */

// The reference is of the time when a beta header had to ask for them.
allowFault(/source\.type/)

const BOB = 'bob-secret-key-of-some-length'
const YAML = `version: 1
keys: { ann: { secret: { env: CALLER_KEY } }, bob: { secret: { env: BOB_KEY } } }
upstreams:
  chat: { kind: simulator-chat }
  messages: { kind: simulator-messages, traits: { max_output: 4096 } }
models:
  sim-messages: { upstream: messages, as: sim-text }
  sim-chat: { upstream: chat, as: sim-text }
`
const TEXT = 'The quick brown fox.'
const BETA = 'files-api-2025-04-14'

const stage = (t: Test): Promise<TestGateway> => startTestGateway(t, YAML, { env: { BOB_KEY: BOB } })
const anthropic = ({ origin }: TestGateway, apiKey: string): Anthropic =>
  new Anthropic({ apiKey, baseURL: origin, maxRetries: 0 })

t.test('the SDK uploads, lists, shows, fetches, uses and deletes files', async t => {
  const gateway = await stage(t)
  const sdk = anthropic(gateway, gateway.key)
  const bob = anthropic(gateway, BOB)
  const names = ['a.txt', 'b.txt', 'c.txt']
  const made = []
  for (const name of names) {
    made.push(await sdk.beta.files.upload({ file: await toFile(Buffer.from(TEXT), name, { type: 'text/plain' }) }))
  }
  const [first] = made
  if (first === undefined) throw new Error('nothing was made')
  t.match(first, {
    type: 'file',
    filename: 'a.txt',
    mime_type: 'text/plain',
    size_bytes: TEXT.length,
    created_at: /^\d{4}-.*Z$/,
  })
  const theirs = await bob.beta.files.upload({ file: await toFile(Buffer.from('x'), 'bob.txt') })

  const listed = []
  for await (const { id } of sdk.beta.files.list({ limit: 2 })) listed.push(id)
  t.strictSame(listed, made.map(({ id }) => id).toReversed(), 'the newest first, page by page')
  const page = await sdk.beta.files.list({ limit: 1 })
  t.ok(page.hasNextPage())
  const get = async (query: string): Promise<unknown> =>
    (
      await request(t, gateway.origin, `/v1/files?beta=true&${query}`, {
        method: 'GET',
        headers: { 'x-api-key': gateway.key, 'anthropic-version': '2023-06-01' },
      })
    ).json()
  // As the reference has it, which earlier SDKs go by.
  t.match(await get('limit=1'), { has_more: true, first_id: made[2]?.id, last_id: made[2]?.id })
  t.match(await get(`before_id=${first.id}&limit=1`), { data: [{ id: made[1]?.id }], has_more: true })
  t.match(await get(`after_id=${made[2]?.id}&limit=1`), { data: [{ id: made[1]?.id }], has_more: true })
  t.match(await get('after_id=file_none'), { type: 'error', error: { type: 'invalid_request_error' } })
  const some = await sdk.beta.files.list({ ids: [first.id, theirs.id, 'file_none'] })
  t.strictSame(
    some.data.map(({ id }) => id),
    [first.id],
  )
  t.equal('object' in ((await get('limit=1')) as object), false, 'a member of the other interface')

  t.match(await sdk.beta.files.retrieveMetadata(first.id), { id: first.id, filename: 'a.txt' })
  t.equal(await (await sdk.beta.files.download(first.id)).text(), TEXT)

  const content = [{ type: 'document' as const, source: { type: 'file' as const, file_id: first.id } }]
  const asked = { model: 'sim-messages', max_tokens: 64, messages: [{ role: 'user' as const, content }], betas: [BETA] }
  t.equal((await sdk.beta.messages.create(asked)).type, 'message')
  const foreign = await bob.beta.messages.create(asked).catch((error: unknown) => error)
  t.ok(foreign instanceof Anthropic.NotFoundError, String(foreign))
  const elsewhere = await sdk.beta.messages.create({ ...asked, model: 'sim-chat' }).catch((error: unknown) => error)
  t.match(elsewhere, { status: 400, error: { error: { type: 'invalid_request_error', message: /is not at/ } } })

  const hidden = await sdk.beta.files.retrieveMetadata(theirs.id).catch((error: unknown) => error)
  t.ok(hidden instanceof Anthropic.NotFoundError, String(hidden))
  t.strictSame(await sdk.beta.files.delete(first.id), { id: first.id, type: 'file_deleted' })
  const gone = await sdk.beta.files.retrieveMetadata(first.id).catch((error: unknown) => error)
  t.match(gone, { status: 404, error: { type: 'error', error: { type: 'not_found_error' } } })
})

t.test('the real kind relays: the key, the version and the beta go out, and the shape comes back', async t => {
  const up = await startRawUpstream(t)
  const file = {
    id: 'file_1',
    type: 'file',
    filename: 'a',
    mime_type: 'text/plain',
    size_bytes: 1,
    created_at: '2026-01-01T00:00:00Z',
  }
  up.answer(json(file))
  const yaml = `version: 1
keys: { ann: { secret: { env: CALLER_KEY } } }
upstreams: { real: { kind: anthropic, base: "${up.origin}", secret: { env: UPSTREAM_KEY } } }
models: { claude: real }
`
  const gateway = await startTestGateway(t, yaml)
  const sdk = anthropic(gateway, gateway.key)
  t.match(await sdk.beta.files.upload({ file: await toFile(Buffer.from('x'), 'a') }), file)
  t.match(await sdk.beta.files.retrieveMetadata('file_1'), file)
  const earlier = { 'x-api-key': gateway.key, 'anthropic-version': '2023-06-01', 'anthropic-beta': BETA }
  await request(t, gateway.origin, '/v1/files?beta=true', { method: 'GET', headers: earlier })
  await request(t, gateway.origin, '/v1/files/file_1?beta=true', { method: 'GET', headers: earlier })
  const last = up.requests.items.at(-1)
  t.equal(last?.target, '/v1/files/file_1?beta=true')
  t.match([last?.header('anthropic-version'), last?.header('anthropic-beta')], ['2023-06-01', BETA])
  const [sent] = up.requests.items
  t.equal(sent?.target, '/v1/files')
  t.match(sent?.header('anthropic-version'), /^\d{4}-/)
  t.not(sent?.header('x-api-key'), gateway.key)
  t.equal(up.requests.items[1]?.target, '/v1/files/file_1')
})

t.test('where no upstream of the key takes such files, that is said in the shape of the family', async t => {
  const yaml = YAML.replace('  sim-messages: { upstream: messages, as: sim-text }\n', '')
  const gateway = await startTestGateway(t, yaml, { env: { BOB_KEY: BOB } })
  const upload = anthropic(gateway, gateway.key).beta.files.upload({ file: await toFile(Buffer.from('x'), 'a') })
  const refused = await upload.catch((error: unknown) => error)
  t.match(refused, {
    status: 400,
    error: { type: 'error', error: { type: 'invalid_request_error', message: /keep this/ } },
  })
})

// ── paths that no one serves

type Ask = (path: string, options?: RequestOptions) => Promise<Answer>

const CLIENTS = {
  messages: {
    headers: (key: string) => ({ 'x-api-key': key, 'anthropic-version': '2023-06-01' }),
    error: { type: 'error', error: { type: 'not_found_error' } },
  },
  native: {
    headers: (key: string) => ({ 'x-goog-api-key': key }),
    error: { error: { code: 404, status: 'NOT_FOUND' } },
  },
  compatible: {
    headers: (key: string) => ({ authorization: `Bearer ${key}` }),
    error: { error: { type: 'invalid_request_error', code: null } },
  },
} as const

t.test('paths that no one serves answer in the family that asks', async t => {
  const gateway = await stage(t)
  for (const [family, { headers, error }] of Object.entries(CLIENTS)) {
    const ask: Ask = (path, options) => request(t, gateway.origin, path, { ...options, headers: headers(gateway.key) })
    for (const path of [
      '/v1/nothing',
      '/v1/organizations/usage',
      '/nothing',
      '/v1/chat/nothing',
      '/v1/models/x:nothing',
    ]) {
      for (const method of ['GET', 'POST'] as const) {
        if (path.includes('models') && method === 'GET') continue
        const answer = await ask(path, { method, ...(method === 'POST' && { body: {} }) })
        t.equal(answer.status, 404, `${family} ${method} ${path}`)
        t.match(answer.json(), error, `${family} ${method} ${path}`)
      }
    }
    const wrong = await request(t, gateway.origin, '/v1/nothing', { headers: headers('wrong'), method: 'GET' })
    t.equal(wrong.status, 401)
    t.equal('type' in (wrong.json() as object), family === 'messages', 'also to those with a wrong key')
    const method = await ask('/v1/embeddings', { method: 'DELETE' })
    t.equal(method.status, 405)
    t.equal('type' in (method.json() as object), family === 'messages', 'and for a method that no one has there')
  }
})

t.test('an unknown native verb is not found, no matter who owns the name before it', async t => {
  const gateway = await stage(t)
  const native = CLIENTS.native.headers(gateway.key)
  const paths = [
    'models/sim-chat:nothing',
    'models/sim-chat:generate',
    'files/x:nothing',
    'batches/x:nothing',
    'models/a/b:nothing',
  ]
  for (const path of paths) {
    for (const version of ['v1beta', 'v1']) {
      const answer = await request(t, gateway.origin, `/${version}/${path}`, {
        method: 'POST',
        body: {},
        headers: native,
      })
      t.equal(answer.status, 404, path)
      t.match(answer.json(), { error: { code: 404, status: 'NOT_FOUND' } }, `${version}/${path}`)
    }
  }
  const get = await request(t, gateway.origin, '/v1beta/models/sim-chat:generateContent', {
    method: 'PUT',
    body: {},
    headers: native,
  })
  t.equal(get.status, 405, 'a known verb with another method')
  const model = await request(t, gateway.origin, '/v1beta/models/sim-chat', {
    method: 'PUT',
    body: {},
    headers: native,
  })
  t.equal(model.status, 405)
})

proveNoLeak(t)
