import t, { type Test } from 'tap'
import { body, head, json } from '../helpers/answers.js'
import { proveNoLeak } from '../helpers/canaries.js'
import { startTestGateway, type TestGateway } from '../helpers/gateway.js'
import type { Answer } from '../helpers/raw-client.js'
import { type RawUpstream, type Script, startRawUpstream } from '../helpers/raw-upstream.js'

// Uploads in pieces: the address at which one continues is ours to give, and the upstream's own stays here.

const BOB = 'bob-secret-key-of-some-length'
const KEYS = 'keys: { ann: { secret: { env: CALLER_KEY } }, bob: { secret: { env: BOB_KEY } } }'
const PATH = '/upload/v1beta/files'

interface Stage {
  readonly gateway: TestGateway
  readonly upstream: RawUpstream
}

async function stage(t: Test, ...scripts: Script[]): Promise<Stage> {
  return await stageWith(t, '', scripts)
}

async function stageWith(t: Test, more: string, scripts: readonly Script[] = []): Promise<Stage> {
  const upstream = await startRawUpstream(t)
  upstream.answer(...scripts)
  const yaml = `version: 1\n${more}${KEYS}\nupstreams:\n  up: { kind: native-generate, base: "${upstream.origin}", secret: { env: UPSTREAM_KEY } }\nmodels: { m: up }\n`
  return { upstream, gateway: await startTestGateway(t, yaml, { env: { BOB_KEY: BOB } }) }
}

const START = {
  'x-goog-upload-protocol': 'resumable',
  'x-goog-upload-command': 'start',
  'x-goog-upload-header-content-length': '5',
  'x-goog-upload-header-content-type': 'text/plain',
}
const LAST = { 'x-goog-upload-command': 'upload, finalize', 'x-goog-upload-offset': '0' }

const started =
  (url: string): Script =>
  peer =>
    peer.send(
      head(200, {
        'x-goog-upload-url': url,
        'x-goog-upload-control-url': url,
        'x-goog-upload-status': 'active',
        'x-goog-upload-chunk-granularity': '262144',
        'x-goog-upload-header-x-backends': 'unix:/tmp/x',
        'content-length': '0',
      }),
    )

const file = { name: 'files/abc', mimeType: 'text/plain', sizeBytes: '5', state: 'ACTIVE' }
const ended: Script = json({ file }, { headers: { 'x-goog-upload-status': 'final' } })

const start = (gateway: TestGateway, more = {}): Promise<Answer> =>
  gateway.request(PATH, { body: { file: { displayName: 'x' } }, headers: { ...START, ...more } })

const pathOf = (answer: Answer): string => {
  const url = new URL(answer.header('x-goog-upload-url') ?? '')
  return url.pathname + url.search
}

t.test('the address is ours, and what is sent there goes to the upstream’s own', async t => {
  const upstream = await startRawUpstream(t)
  const yaml = `version: 1\n${KEYS}\nupstreams:\n  up: { kind: native-generate, base: "${upstream.origin}", secret: { env: UPSTREAM_KEY } }\nmodels: { m: up }\n`
  const gateway = await startTestGateway(t, yaml, { env: { BOB_KEY: BOB } })
  upstream.answer(started(`${upstream.origin}/hidden/place?upload_id=TRUE&x=%2F`), ended)
  const answer = await start(gateway, { 'x-other': 'y' })
  t.equal(answer.status, 200)
  t.equal(answer.header('x-goog-upload-status'), 'active')
  t.equal(answer.header('x-goog-upload-chunk-granularity'), '262144')
  t.notMatch(answer.head.raw.toString('latin1'), /TRUE|hidden|backends|control-url/)
  const url = new URL(answer.header('x-goog-upload-url') ?? '')
  t.equal(url.origin, gateway.origin)
  t.match(url.searchParams.get('upload_id'), /^[0-9a-f]{32}$/, 'F-A5: 128 random bits')
  const [begun] = upstream.requests.items
  t.equal(begun?.target, PATH)
  t.equal(begun?.header('x-goog-upload-header-content-type'), 'text/plain')
  t.equal(begun?.header('x-other'), undefined)
  const last = await gateway.request(pathOf(answer), { body: Buffer.from('hello'), headers: LAST })
  t.same(last.json(), { file })
  t.equal(last.header('x-goog-upload-status'), 'final')
  const sent = upstream.requests.items.at(-1)
  t.equal(sent?.target, '/hidden/place?upload_id=TRUE&x=%2F')
  t.equal(sent?.body.toString(), 'hello')
  t.equal(sent?.header('x-goog-upload-command'), 'upload, finalize')
  t.same((await gateway.request('/v1beta/files')).json(), { files: [file] })
})

t.test('F-A5 no two addresses are alike', async t => {
  const { gateway, upstream } = await stage(t)
  upstream.answer(started(`${upstream.origin}/up`))
  const ids = new Set<string | null>()
  for (let at = 0; at < 32; at++) {
    ids.add(new URL((await start(gateway)).header('x-goog-upload-url') ?? '').searchParams.get('upload_id'))
  }
  t.equal(ids.size, 32)
})

t.test('F-X1 F-U21 an address that is not the upstream’s own is refused', async t => {
  const elsewhere = await startRawUpstream(t, { host: '127.0.0.3' })
  const { gateway, upstream } = await stage(t)
  const { port } = new URL(upstream.origin)
  const addresses = [
    `${elsewhere.origin}/up`,
    `http://user:pass@127.0.0.1:${port}/up`,
    `//127.0.0.3:${port}/up`,
    `https://127.0.0.1:${port}/up`,
    `http://127.0.0.1:1/up`,
    'file:///etc/passwd',
    'http://[::1',
    'javascript:0',
  ]
  for (const address of addresses) {
    upstream.answer(started(address))
    const answer = await start(gateway)
    t.equal(answer.status, 502, address)
    t.equal(answer.header('x-goog-upload-url'), undefined)
  }
  t.equal(elsewhere.connections.items.length, 0)
})

t.test('F-A4 an upload of another caller and one that never was are refused alike', async t => {
  const { gateway, upstream } = await stage(t)
  upstream.answer(started(`${upstream.origin}/up`))
  const path = pathOf(await start(gateway))
  const ask = (where: string): Promise<Answer> =>
    gateway.request(where, { key: BOB, body: Buffer.from('hello'), headers: LAST })
  const foreign = await ask(path)
  const unknown = await ask(`${PATH}?upload_id=${'0'.repeat(32)}`)
  t.equal(foreign.status, 404)
  t.same(foreign.json(), unknown.json())
  for (const id of ['', '..', '%00', 'x'.repeat(300)]) t.equal((await ask(`${PATH}?upload_id=${id}`)).status, 404)
  t.equal(upstream.requests.items.length, 1)
})

t.test('the address says how the client came here', async t => {
  const { gateway, upstream } = await stage(t)
  upstream.answer(started(`${upstream.origin}/up`))
  const said = { host: 'models.example:8443', 'x-forwarded-proto': 'https', 'x-forwarded-host': 'proxy.example' }
  const answer = await start(gateway, said)
  t.match(answer.header('x-goog-upload-url'), /^http:\/\/models\.example:8443\/upload\/v1beta\/files\?upload_id=/)
  const behind = await stageWith(t, 'listen: { trusted_proxies: [127.0.0.1] }\n')
  behind.upstream.answer(started(`${behind.upstream.origin}/up`))
  const there = await start(behind.gateway, said)
  t.match(there.header('x-goog-upload-url'), /^https:\/\/proxy\.example\/upload\/v1beta\/files\?upload_id=/)
})

t.test('F-C13 a name with line ends or other odd characters breaks nothing', async t => {
  const { gateway, upstream } = await stage(t)
  upstream.answer(started(`${upstream.origin}/up`))
  for (const name of ['na\u00efve.txt', 'a\tb', '"q"', '\u0001', 'a\u007f']) {
    const answer = await start(gateway, { 'x-goog-upload-file-name': name })
    t.ok([200, 400].includes(answer.status), `${JSON.stringify(name)}: ${answer.status}`)
  }
  for (const host of ['evil"><script>', 'a b', 'x/../y', 'x?y', 'x#y', 'x@y', 'x\\y']) {
    const answer = await start(gateway, { host })
    t.equal(answer.status, 400, host)
    t.equal(answer.header('x-goog-upload-url'), undefined)
  }
})

t.test('multipart uploads go up unchanged, and the file is one’s own', async t => {
  const { gateway, upstream } = await stage(t, json({ file }), json(file))
  const related =
    '--x\r\ncontent-type: application/json\r\n\r\n{"file":{}}\r\n--x\r\ncontent-type: text/plain\r\n\r\nhello\r\n--x--'
  const headers = { 'content-type': 'multipart/related; boundary=x', 'x-goog-upload-protocol': 'multipart' }
  const answer = await gateway.request(`${PATH}?uploadType=multipart`, { body: related, headers })
  t.same(answer.json(), { file })
  t.equal(upstream.requests.items[0]?.body.toString(), related)
  t.equal(upstream.requests.items[0]?.target, `${PATH}?uploadType=multipart`)
  t.same((await gateway.request('/v1beta/files/abc')).json(), file)
  t.equal((await gateway.request('/v1beta/files/abc', { key: BOB })).status, 404)
})

t.test('a refusal of the upstream is passed on, and nothing is remembered', async t => {
  const refusal = { error: { code: 400, message: 'too large', status: 'INVALID_ARGUMENT' } }
  const { gateway } = await stage(t, body(JSON.stringify(refusal), { status: 400 }))
  const answer = await start(gateway)
  t.equal(answer.status, 400)
  t.same(answer.json(), refusal)
  t.same((await gateway.request('/v1beta/files')).json(), {})
})

proveNoLeak(t)
