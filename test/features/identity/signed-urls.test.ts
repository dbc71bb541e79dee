import { createHmac } from 'node:crypto'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { signUrl } from '../../../src/index.js'
import { command } from '../../cli/in-process.js'
import { ADMIN_SECRET, adminLine, adminOf } from '../../helpers/admin.js'
import { json } from '../../helpers/answers.js'
import { canary, proveNoLeak } from '../../helpers/canaries.js'
import { startTestGateway, type TestGateway } from '../../helpers/gateway.js'
import { type Answer, connectRaw, type RequestOptions, request, requestBytes } from '../../helpers/raw-client.js'
import { type RawUpstream, startRawUpstream } from '../../helpers/raw-upstream.js'
import { ask, realtimeYaml, startSocketUpstream } from '../../helpers/realtime.js'

const URL_SECRET = canary('upstream')
const HOUR_MS = 3_600_000
const DECLARED = `identity:
  signed_urls: { secret: { env: URL_SECRET }, routes: ["GET /v1/pictures*", "GET /v1*/models*", "GET /v1/videos/*", "WS /v1/realtime"] }
`

function yamlOf(up: RawUpstream, more = ''): string {
  return `version: 1
log: { level: trace }
groups: { few: { limits: { requests: 2/day } } }
keys:
  caller: { secret: { env: CALLER_KEY } }
  web: { secret: { hash: "sha256:${'a'.repeat(64)}" }, models: [m] }
  few: { secret: { hash: "sha256:${'b'.repeat(64)}" }, group: few }
  late: { secret: { hash: "sha256:${'c'.repeat(64)}" }, expires: "2020-01-01" }
upstreams: { up: { base: "${up.origin}", speaks: { pictures: "GET /pictures" } } }
models: { m: up, other: up }
routes:
  GET /v1/pictures: { protocol: pictures, model: query.model }
  POST /v1/pictures: { protocol: pictures, model: query.model }
  GET /v1/plain: { protocol: pictures, model: query.model }
${more}`
}

interface Stage {
  readonly up: RawUpstream
  readonly gateway: TestGateway
  /** The target of a signed address. */
  sign(target: string, key?: string, life?: number, secret?: string): string
  /** Without a key. */
  get(target: string, options?: RequestOptions): Promise<Answer>
}

async function stage(t: Test, more = DECLARED, env: Record<string, string> = {}): Promise<Stage> {
  const up = await startRawUpstream(t)
  for (let at = 0; at < 20; at++) up.answer(json({ picture: true }))
  const gateway = await startTestGateway(t, yamlOf(up, more), { env: { URL_SECRET, ...env } })
  return {
    up,
    gateway,
    sign: (target, key = 'web', life = 60_000, secret = URL_SECRET) => {
      const url = new URL(signUrl(`${gateway.origin}${target}`, { key, secret, expires: new Date(Date.now() + life) }))
      return `${url.pathname}${url.search}`
    },
    get: (target, options) => request(t, gateway.origin, target, options),
  }
}

function messageOf(answer: Answer): string {
  return (answer.json() as { error: { message: string } }).error.message
}

t.test('a signed URL is taken in place of a key, again and again until it expires', async t => {
  const { gateway, up, sign, get } = await stage(t)
  const target = sign('/v1/pictures?model=m&b=2&a=1')
  for (let at = 0; at < 2; at++) t.equal((await get(target)).status, 200)
  const [first] = up.requests.items
  t.equal(first?.target, '/pictures?b=2&a=1', 'no part of the signature is sent upstream')
  const line = await gateway.log.find(one => one.msg === 'request')
  t.equal(line.key, 'web')
  const moved = `/v1/pictures?a=1&${target.slice(target.indexOf('?') + 1).replace('&a=1', '')}`
  t.equal((await get(moved)).status, 200, 'the order of the query does not matter')
  const client = await connectRaw(t, gateway.origin)
  await client.send(requestBytes(gateway.origin, sign('/v1/videos/task_1/content'), { method: 'HEAD' }))
  t.match((await client.head()).line, ' 404 ', 'signed for GET it is good for HEAD')
  const text = JSON.stringify(gateway.log.items)
  t.notMatch(text, new URLSearchParams(target).get('gateway_signature') as string, 'no signature in the log')
  t.notMatch(text, 'gateway_expires', 'at the level trace')
})

t.test('the signature is as the reference says', async t => {
  const { sign, get } = await stage(t)
  const expires = Math.floor(Date.now() / 1000) + 60
  const signed = `GET\n/v1/pictures\ngateway_expires=${expires}&gateway_key=web&model=m`
  const signature = createHmac('sha256', URL_SECRET).update(signed).digest('base64url')
  const target = `/v1/pictures?model=m&gateway_key=web&gateway_expires=${expires}&gateway_signature=${signature}`
  t.equal((await get(target)).status, 200)
  t.throws(() => sign(target), /has the parameter gateway_key already/)
})

t.test('what was not signed is refused, by name', async t => {
  const { gateway, up, sign, get } = await stage(t)
  const good = sign('/v1/pictures?model=m')
  const other = /not of this method, path and query/
  const cases: readonly (readonly [string, RegExp, RequestOptions?])[] = [
    [good.replace('model=m', 'model=other'), other],
    [`${good}&more=1`, other],
    [good.replace('/v1/pictures', '/v1/models'), other],
    [good.replace('gateway_key=web', 'gateway_key=few'), other],
    [good.replace(/gateway_expires=(\d+)/, (_, at: string) => `gateway_expires=${Number(at) + 1}`), other],
    [good.slice(0, -1), other],
    [sign('/v1/pictures?model=m', 'web', 60_000, 'x'.repeat(32)), other],
    [sign('/v1/pictures?model=m', 'web', -1000), /it has expired/],
    [sign('/v1/pictures?model=m', 'web', 2 * HOUR_MS), /expires later than signed URLs may/],
    [sign('/v1/pictures?model=m', 'nobody'), /its key is not valid/],
    [sign('/v1/pictures?model=m', 'late'), /its key is not valid/],
    [sign('/v1/plain?model=m'), /none is taken on this path/],
    [sign('/v1/nothing'), /none is taken on this path/],
    [good, /none is taken on this path/, { method: 'POST', body: { model: 'm' } }],
    [good, /a key was sent beside it/, { key: gateway.key }],
    [`${good}&gateway_key=web`, /once each/],
    [good.replace(/gateway_expires=\d+/, 'gateway_expires=soon'), /once each/],
    ['/v1/pictures?model=m&gateway_signature=x', /once each/],
  ]
  for (const [target, words, options] of cases) {
    const answer = await get(target, options)
    t.equal(answer.status, 401, target)
    t.match(messageOf(answer), /^The signed URL is refused: /)
    t.match(messageOf(answer), words)
  }
  t.equal(up.requests.items.length, 0)
})

t.test('the terms and limits of the key hold', async t => {
  const { sign, get } = await stage(t)
  t.equal((await get(sign('/v1/pictures?model=other'))).status, 404, 'a model that the key does not have')
  const target = sign('/v1/pictures?model=other', 'few')
  const statuses = [await get(target), await get(target), await get(target)].map(({ status }) => status)
  t.same(statuses, [200, 200, 429], 'the limit of its group')
})

t.test('refusals are in the form of the family', async t => {
  const { gateway, sign, get } = await stage(t)
  const shapes: readonly (readonly [string, Record<string, string>, object])[] = [
    ['/v1/models', {}, { error: { code: 'invalid_api_key' } }],
    ['/v1/models', { 'anthropic-version': '2023-06-01' }, { type: 'error', error: { type: 'authentication_error' } }],
    ['/v1beta/models', {}, { error: { code: 401, status: 'UNAUTHENTICATED' } }],
  ]
  for (const [path, headers, shape] of shapes) {
    const answer = await get(`${sign(path)}x`, { headers })
    t.match(answer.json(), shape)
    t.match(messageOf(answer), /not of this method, path and query/)
  }
  t.equal((await get(sign('/v1/models'))).status, 200)
  t.equal((await gateway.request('/v1/models')).status, 200, 'keys work beside it')
})

t.test('where none is declared, a signed URL is refused by name', async t => {
  const certificate = 'identity: { providers: {} }'
  for (const more of ['', certificate]) {
    const { sign, get } = await stage(t, more)
    const answer = await get(sign('/v1/pictures?model=m'))
    t.equal(answer.status, 401)
    t.match(messageOf(answer), 'The signed URL is refused: none is taken here.')
  }
})

t.test('keys of the store sign, until they are revoked', async t => {
  const { line, origin } = await adminLine()
  const { sign, get } = await stage(t, `${DECLARED}${line}\n`, { GATEWAY_ADMIN_KEY: ADMIN_SECRET })
  const admin = adminOf(t, origin)
  const target = sign('/v1/pictures?model=m', 'team')
  t.equal((await get(target)).status, 401, 'there is no such key')
  t.equal((await admin('POST', '/admin/keys', { name: 'team' })).status, 201)
  t.equal((await get(target)).status, 200)
  t.equal((await admin('DELETE', '/admin/keys/team')).status, 200)
  t.match(messageOf(await get(target)), /its key is not valid/)
})

t.test('a key that a reload removes signs no longer', async t => {
  const up = await startRawUpstream(t)
  up.answer(json({}))
  const gateway = await startTestGateway(t, yamlOf(up, DECLARED), { env: { URL_SECRET } })
  const signing = { key: 'web', secret: URL_SECRET, expires: new Date(Date.now() + 60_000) }
  const url = new URL(signUrl(`${gateway.origin}/v1/pictures?model=m`, signing))
  const get = (): Promise<Answer> => request(t, gateway.origin, `${url.pathname}${url.search}`)
  t.equal((await get()).status, 200)
  await gateway.write('gateway.yaml', yamlOf(up, DECLARED).replace(/^ {2}web: .*\n/m, ''))
  await gateway.gateway.reload()
  t.match(messageOf(await get()), /its key is not valid/)
})

t.test('a WebSocket opens by a signed URL', async t => {
  const up = await startSocketUpstream(t)
  const yaml = realtimeYaml(up.origin, DECLARED.replace('"GET /v1/pictures*", ', ''))
  const gateway = await startTestGateway(t, yaml, { env: { URL_SECRET } })
  const signing = { key: 'caller', secret: URL_SECRET, expires: new Date(Date.now() + 60_000) }
  const path = (scheme: string): string => {
    const url = new URL(signUrl(`${gateway.origin.replace('http', scheme)}/v1/realtime?model=m`, signing))
    return `${url.pathname}${url.search}`
  }
  t.equal((await ask(t, gateway, { key: null, path: path('ws') })).status, 101)
  t.equal(up.requests.items[0]?.url, '/v1/realtime?model=real-m')
  t.equal((await ask(t, gateway, { key: null, path: path('http') })).status, 401, 'it was signed for GET')
})

t.test('a secret before the present one still verifies, and no longer signs', async t => {
  const [before, earlier] = [canary('upstream'), canary('upstream')]
  const previous = 'secret: { env: URL_SECRET }, previous_secrets: [{ env: GONE }, { env: BEFORE }, { env: EARLIER }],'
  const declared = DECLARED.replace('secret: { env: URL_SECRET },', previous)
  const { gateway, sign, get } = await stage(t, declared, { BEFORE: before, EARLIER: earlier })
  for (const secret of [URL_SECRET, before, earlier])
    t.equal((await get(sign('/v1/pictures?model=m', 'web', 60_000, secret))).status, 200)
  const expired = await get(sign('/v1/pictures?model=m', 'web', -1000, before))
  t.match([expired.status, messageOf(expired)], [401, /it has expired/])
  t.equal((await get(sign('/v1/pictures?model=m', 'web', 60_000, 'x'.repeat(32)))).status, 401)
  const env = { URL_SECRET, BEFORE: before, EARLIER: earlier, CALLER_KEY: gateway.key }
  const file = join(gateway.folder, 'gateway.yaml')
  const url = `${gateway.origin}/v1/pictures?model=m`
  const { stdout } = await command(['sign-url', url, file, '--key', 'web', '--for', '10m'], { env })
  const expires = new Date(Number(new URL(stdout.trim()).searchParams.get('gateway_expires')) * 1000)
  t.equal(stdout.trim(), signUrl(url, { key: 'web', secret: URL_SECRET, expires }))
  const shown = await command(['explain', '-f', file], { env })
  t.match(shown.stdout, /for at most 1h, also with 2 of the secrets before/)
})

t.test('the command makes them', async t => {
  const { gateway, get } = await stage(t)
  const file = join(gateway.folder, 'gateway.yaml')
  const env = { URL_SECRET, CALLER_KEY: gateway.key }
  const made = (url: string, ...more: string[]): ReturnType<typeof command> =>
    command(['sign-url', `${gateway.origin}${url}`, file, '--key', 'web', ...more], { env })
  const { code, stdout, stderr } = await made('/v1/pictures?model=m', '--for', '10m')
  t.equal(code, 0, stderr)
  t.equal((await get(stdout.trim().slice(gateway.origin.length))).status, 200)
  t.match((await made('/v1/pictures?model=m', '--for', '2h')).stderr, /longer than identity.signed_urls.max_age/)
  t.match((await made('/v1/plain')).stderr, 'GET /v1/plain is not in identity.signed_urls.routes')
  t.match((await made('/v1/none')).stderr, 'no route serves GET /v1/none')
  const shown = await command(['explain', '-f', file], { env })
  t.match(shown.stdout, /signed URLs +signed in place of a key, for at most 1h/)
  t.notMatch(shown.stdout, URL_SECRET)
})

proveNoLeak(t)
