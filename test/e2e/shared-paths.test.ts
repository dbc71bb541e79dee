import t, { type Test } from 'tap'
import { proveNoLeak } from '../helpers/canaries.js'
import { formOf, sending } from '../helpers/forms.js'
import { startTestGateway, type TestGateway } from '../helpers/gateway.js'
import { type Answer, type RequestOptions, request } from '../helpers/raw-client.js'

// Paths under /v1 that two interfaces have: the headers of a request tell whose it is, with one key and one upstream.

const BOB = 'bob-secret-key-of-some-length'
const KEYS = 'keys: { ann: { secret: { env: CALLER_KEY } }, bob: { secret: { env: BOB_KEY } } }'
const YAML = `version: 1\n${KEYS}\nupstreams: { sim: { kind: simulator } }\nmodels: { "sim-*": sim }\n`
const TEXT = 'The quick brown fox.'

type Ask = (path: string, options?: RequestOptions) => Promise<Answer>

interface Stage {
  readonly gateway: TestGateway
  /** Ann, as a client of either interface. */
  readonly native: Ask
  readonly compatible: Ask
  /** Bob, as a client of the native one. */
  readonly bob: Ask
}

async function stage(t: Test): Promise<Stage> {
  const gateway = await startTestGateway(t, YAML, { env: { BOB_KEY: BOB } })
  const native =
    (key: string): Ask =>
    (path, { headers, ...more } = {}) =>
      request(t, gateway.origin, path, { headers: { 'x-goog-api-key': key, ...headers }, ...more })
  return { gateway, native: native(gateway.key), bob: native(BOB), compatible: gateway.request }
}

/** Refused in the shape of the native interface: a code that is the status, and a status that is a word. */
const nativeError = (status: number): object => ({ error: { code: status, status: /^[A-Z_]+$/ } })
const compatibleError = { error: { type: String, param: null } }

/** A file by the dance of the native interface, under /v1, in pieces. */
async function uploaded(t: Test, ask: Ask, text = TEXT): Promise<string> {
  const start = await ask('/upload/v1/files', {
    body: { file: { displayName: 'fox' } },
    headers: {
      'x-goog-upload-protocol': 'resumable',
      'x-goog-upload-command': 'start',
      'x-goog-upload-header-content-length': String(text.length),
      'x-goog-upload-header-content-type': 'text/plain',
    },
  })
  t.equal(start.status, 200, start.text)
  const url = new URL(start.header('x-goog-upload-url') ?? '')
  t.equal(url.pathname, '/upload/v1/files', 'it goes on at the path at which it began')
  const half = text.length >> 1
  const piece = (from: number, to: number, command: string): Promise<Answer> =>
    ask(url.pathname + url.search, {
      body: text.slice(from, to),
      headers: { 'x-goog-upload-command': command, 'x-goog-upload-offset': String(from) },
    })
  t.equal((await piece(0, half, 'upload')).header('x-goog-upload-status'), 'active')
  const done = await piece(half, text.length, 'upload, finalize')
  t.equal(done.header('x-goog-upload-status'), 'final')
  return (done.json() as { file: { name: string } }).file.name
}

const compatibleUpload = async (ask: Ask): Promise<string> => {
  const form = formOf(['purpose', 'user_data'], ['file', Buffer.from(TEXT), 'text/plain'])
  return ((await ask('/v1/files', sending(form))).json() as { id: string }).id
}

t.test('files: each interface uploads, lists, shows, gives and deletes its own', async t => {
  const { native, compatible, bob } = await stage(t)
  const name = await uploaded(t, native)
  const theirs = await uploaded(t, bob)
  const id = await compatibleUpload(compatible)
  const get: RequestOptions = { method: 'GET' }

  const listed = (await native('/v1/files', get)).json()
  t.match(listed, { files: [{ name, displayName: 'fox' }] })
  t.equal((listed as { files: unknown[] }).files.length, 1, 'ann’s own, and of this interface')
  t.match((await compatible('/v1/files', get)).json(), { object: 'list', data: [{ id }], has_more: false })
  t.match((await bob('/v1/files?pageSize=1', get)).json(), { files: [{ name: theirs }] })

  t.match((await native(`/v1/${name}`, get)).json(), { name, mimeType: 'text/plain' })
  t.match((await compatible(`/v1/files/${id}`, get)).json(), { id, object: 'file' })
  t.equal((await native(`/v1/${name}:download`, get)).text, TEXT)
  t.equal((await compatible(`/v1/files/${id}/content`, get)).text, TEXT)

  t.match((await native(`/v1/files/${id}`, get)).json(), nativeError(404), 'the other’s id names nothing here')
  t.match((await compatible(`/v1/${name}`, get)).json(), compatibleError)
  t.match((await bob(`/v1/${name}`, get)).json(), nativeError(404))
  t.match((await bob(`/v1/${name}:download`, get)).json(), nativeError(404))
  t.match((await bob(`/v1/${name}`, { method: 'DELETE' })).json(), nativeError(404))

  t.equal((await native(`/v1/${name}`, { method: 'DELETE' })).status, 200)
  t.equal((await native(`/v1/${name}`, get)).status, 404)
  t.equal((await compatible(`/v1/files/${id}`, get)).status, 200, 'and the other’s is there as before')
  t.match((await compatible(`/v1/files/${id}`, { method: 'DELETE' })).json(), { id, deleted: true })
})

t.test('a method that no one has there is refused in the shape of its own interface', async t => {
  const { native, compatible } = await stage(t)
  t.match((await native('/upload/v1/files', { method: 'PUT', body: 'x' })).json(), nativeError(405))
  t.match((await native('/v1/files', { method: 'PUT', body: 'x' })).json(), nativeError(405))
  t.match((await compatible('/v1/files', { method: 'PUT', body: 'x' })).json(), compatibleError)
})

t.test('an upload is no one else’s to continue with', async t => {
  const { native, bob } = await stage(t)
  const start = await native('/upload/v1/files', {
    body: {},
    headers: { 'x-goog-upload-protocol': 'resumable', 'x-goog-upload-command': 'start' },
  })
  const url = new URL(start.header('x-goog-upload-url') ?? '')
  const headers = { 'x-goog-upload-command': 'upload, finalize', 'x-goog-upload-offset': '0' }
  t.match((await bob(url.pathname + url.search, { body: 'x', headers })).json(), nativeError(404))
  t.equal((await native(url.pathname + url.search, { body: 'x', headers })).status, 200)
})

t.test('batches: each interface makes, lists, shows and cancels its own', async t => {
  const { native, compatible, bob } = await stage(t)
  const get: RequestOptions = { method: 'GET' }
  const contents = [{ role: 'user', parts: [{ text: 'hello' }] }]
  const batch = { displayName: 'b', inputConfig: { requests: { requests: [{ request: { contents } }] } } }
  const made = await native('/v1/models/sim-generate:batchGenerateContent', { body: { batch } })
  t.equal(made.status, 200, made.text)
  const { name } = made.json() as { name: string }
  const line = {
    custom_id: '1',
    method: 'POST',
    url: '/v1/chat/completions',
    body: { model: 'sim-text', messages: [] },
  }
  const form = formOf(['purpose', 'batch'], ['file', Buffer.from(JSON.stringify(line)), 'application/jsonl'])
  const { id: input_file_id } = (await compatible('/v1/files', sending(form))).json() as { id: string }
  const body = { input_file_id, endpoint: '/v1/chat/completions', completion_window: '24h' }
  const { id } = (await compatible('/v1/batches', { body })).json() as { id: string }
  t.match(id, /^batch/)

  t.match((await native('/v1/batches', get)).json(), { operations: [{ name }] })
  t.match((await compatible('/v1/batches', get)).json(), { object: 'list', data: [{ id }] })
  t.same((await bob('/v1/batches', get)).json(), {})
  t.match((await native(`/v1/${name}`, get)).json(), { name })
  t.match((await compatible(`/v1/batches/${id}`, get)).json(), { id, object: 'batch' })
  t.match((await native(`/v1/batches/${id}`, get)).json(), nativeError(404))
  t.match((await compatible(`/v1/${name}`, get)).json(), compatibleError)
  t.match((await bob(`/v1/${name}:cancel`, { body: '' })).json(), nativeError(404))

  t.equal((await native(`/v1/${name}:cancel`, { body: '' })).status, 200)
  t.match((await native(`/v1/${name}`, get)).json(), { metadata: { state: 'BATCH_STATE_CANCELLED' } })
  t.equal((await compatible(`/v1/batches/${id}/cancel`, { body: {} })).status, 200)

  const wrong = await compatible(`/v1/batches/${id}`, { method: 'DELETE' })
  t.equal(wrong.status, 405, 'the compatible interface deletes no batches')
  t.match(wrong.json(), compatibleError)
  t.equal(wrong.header('allow'), 'GET')
  t.equal((await native(`/v1/${name}`, { method: 'DELETE' })).status, 200)
  t.equal((await native(`/v1/${name}`, get)).status, 404)
})

t.test('clients that present their key in another way show themselves by their library', async t => {
  const { gateway, compatible } = await stage(t)
  const headers = { 'x-goog-api-client': 'library/1' }
  t.same((await gateway.request('/v1/files', { method: 'GET', headers })).json(), {})
  t.match((await compatible('/v1/files', { method: 'GET' })).json(), { object: 'list', data: [] })
})

t.test('who shows no key is refused in the shape of its own interface', async t => {
  const { gateway } = await stage(t)
  const ask = (headers: Record<string, string>): Promise<Answer> =>
    request(t, gateway.origin, '/v1/files/x', { method: 'GET', headers })
  t.match((await ask({ 'x-goog-api-key': 'wrong' })).json(), nativeError(401))
  t.match((await ask({ authorization: 'Bearer wrong' })).json(), { error: { code: 'invalid_api_key' } })
})

t.test('pages of a browser may ask for what either interface does', async t => {
  const gateway = await startTestGateway(t, `${YAML}listen: { cors: { origins: ["https://app.example"] } }\n`, {
    env: { BOB_KEY: BOB },
  })
  const answer = await request(t, gateway.origin, '/v1/batches/x', {
    method: 'OPTIONS',
    headers: {
      origin: 'https://app.example',
      'access-control-request-method': 'DELETE',
      'access-control-request-headers': 'x-goog-api-key',
    },
  })
  t.equal(answer.status, 204)
  t.equal(answer.header('access-control-allow-methods'), 'DELETE, GET')
})

proveNoLeak(t)
