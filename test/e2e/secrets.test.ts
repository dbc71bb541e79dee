import t, { type Test } from 'tap'
import { ADMIN_SECRET, adminLine, adminOf } from '../helpers/admin.js'
import { CHAT_ANSWER, json } from '../helpers/answers.js'
import { canary, proveNoLeak } from '../helpers/canaries.js'
import { CALLER, type LogLine, startTestGateway, type TestGateway } from '../helpers/gateway.js'
import { type RawUpstream, type RecordedRequest, type Script, startRawUpstream } from '../helpers/raw-upstream.js'
import { CLIENT, startTokenServer } from '../helpers/token-server.js'

// Several secrets of one upstream.

const SECRETS = [canary('upstream'), canary('upstream'), canary('upstream')]
const env = { KEY_0: SECRETS[0], KEY_1: SECRETS[1], KEY_2: SECRETS[2] }
const THREE = 'secrets: [{ env: KEY_0 }, { env: KEY_1 }, { env: KEY_2 }]'

interface Stage {
  readonly gateway: TestGateway
  readonly upstream: RawUpstream
}

async function stage(
  t: Test,
  more = '',
  place = '{ in: header, name: authorization, scheme: Bearer }',
): Promise<Stage> {
  const upstream = await startRawUpstream(t)
  upstream.answer(json(CHAT_ANSWER))
  const upstreams = `upstreams:\n  up: { kind: openai, base: "${upstream.origin}", credential: ${place}, ${THREE} }\n`
  const yaml = `version: 1\n${CALLER}\n${upstreams}models: { m: up, film: up, "gpt-*": up }\n${more}`
  return { gateway: await startTestGateway(t, yaml, { env }), upstream }
}

/** Which secret a request has. */
function secretOf(request: RecordedRequest): number {
  const text = `${request.header('authorization')} ${decodeURIComponent(request.target)}`
  return SECRETS.findIndex(secret => text.includes(secret))
}

/** How often each secret was used. */
function uses({ requests }: RawUpstream, since = 0): readonly number[] {
  const used = requests.items.slice(since).map(secretOf)
  return SECRETS.map((_, index) => used.filter(one => one === index).length)
}

/** Refuses the requests of one secret, or of all but one. */
function refusing(refused: (secret: number) => boolean, refusal: Script): Script {
  return peer => (refused(secretOf(peer.request)) ? refusal(peer) : json(CHAT_ANSWER)(peer))
}

const refusal = (status: number, headers = {}): Script => json({ error: { message: 'no' } }, { status, headers })

t.test('secrets take turns', async t => {
  for (const place of ['{ in: header, name: authorization, scheme: Bearer }', '{ in: query, name: key }']) {
    const { gateway, upstream } = await stage(t, '', place)
    for (let i = 0; i < 9; i++) t.equal((await gateway.chat()).status, 200)
    t.same(uses(upstream), [3, 3, 3])
  }
})

for (const [status, headers] of [[401], [402], [403], [429, { 'retry-after': '600' }], [429]] as const) {
  const wait = headers === undefined ? '' : ' with retry-after'
  t.test(`a secret that is refused with ${status}${wait} is set aside, and the request takes the next one`, async t => {
    const { gateway, upstream } = await stage(t, 'health: { cooldown: 60s }\n')
    upstream.answer(refusing(secret => secret === 1, refusal(status, headers)))
    for (let i = 0; i < 21; i++) t.equal((await gateway.chat()).status, 200)
    const [, refused, ...others] = uses(upstream)
    t.equal(refused, 1)
    t.equal(upstream.requests.items.length, 22)
    t.ok(others.every(count => count > 5))
  })
}

t.test('a secret that was set aside comes back', async t => {
  const { gateway, upstream } = await stage(t, 'health: { cooldown: 50ms }\n')
  upstream.answer(refusing(secret => secret === 1, refusal(429)))
  for (let i = 0; i < 3; i++) await gateway.chat()
  upstream.answer(json(CHAT_ANSWER))
  const since = upstream.requests.items.length
  for (let i = 0; uses(upstream, since)[1] === 0 && i < 10_000; i++) await gateway.chat()
  const back = upstream.requests.items.length
  for (let i = 0; i < 9; i++) await gateway.chat()
  t.same(uses(upstream, back), [3, 3, 3])
})

t.test('where all are refused each request still asks, the one that comes back first', async t => {
  const { gateway, upstream } = await stage(t)
  upstream.answer(peer => refusal(429, { 'retry-after': String(100 * (3 - secretOf(peer.request))) })(peer))
  t.equal((await gateway.chat()).status, 429)
  t.same(uses(upstream), [1, 1, 1])
  t.equal((await gateway.chat()).status, 429)
  t.equal(uses(upstream)[2], 2)
  upstream.answer(json(CHAT_ANSWER))
  t.equal((await gateway.chat()).status, 200)
})

t.test('attempts bound the secrets that one request takes', async t => {
  const { gateway, upstream } = await stage(t, 'retry: { attempts: 2 }\n')
  upstream.answer(refusal(401))
  await gateway.chat()
  t.equal(upstream.requests.items.length, 2)
})

t.test('neither a mistake of the client nor a failure of the upstream is a refusal', async t => {
  const { gateway, upstream } = await stage(t, 'retry: { attempts: 1 }\n')
  for (const status of [400, 404, 500]) {
    upstream.answer(refusal(status))
    t.equal((await gateway.chat()).status, status)
  }
  t.same(uses(upstream), [1, 1, 1])
})

t.test('a file stays with the secret that it was uploaded with', async t => {
  const { gateway, upstream } = await stage(t)
  const owners = new Map<string, number>()
  upstream.answer(peer => {
    const { method, target } = peer.request
    const id = method === 'POST' ? `file-${owners.size}` : target.replace(/^.*\//, '')
    if (method === 'POST') owners.set(id, secretOf(peer.request))
    const file = { id, object: 'file', bytes: 1, created_at: 1, filename: 'a', purpose: 'user_data' }
    return json(file)(peer)
  })
  const form = Buffer.from(
    '--b\r\ncontent-disposition: form-data; name="purpose"\r\n\r\nuser_data\r\n' +
      '--b\r\ncontent-disposition: form-data; name="file"; filename="a"\r\n\r\nx\r\n--b--\r\n',
  )
  const headers = { 'content-type': 'multipart/form-data; boundary=b' }
  for (let i = 0; i < 3; i++) {
    const answer = await gateway.request('/v1/files', { body: form, headers })
    t.equal(answer.status, 200, answer.text)
  }
  t.same(uses(upstream), [1, 1, 1])
  for (let i = 0; i < 4; i++) {
    for (const [id, owner] of owners) {
      t.equal((await gateway.request(`/v1/files/${id}`, { method: 'GET' })).status, 200)
      t.equal(secretOf(upstream.requests.items.at(-1) as RecordedRequest), owner)
    }
  }
})

t.test('a conversation stays with the secret with which it began', async t => {
  const { gateway, upstream } = await stage(t)
  let count = 0
  upstream.answer(peer => {
    const output = [{ type: 'message', id: 'msg', role: 'assistant', status: 'completed', content: [] }]
    const answer = { id: `resp_${count++}`, object: 'response', status: 'completed', model: 'm', output, usage: null }
    return json(answer)(peer)
  })
  const create = async (previous?: string): Promise<string> => {
    const body = { model: 'm', input: 'hello', ...(previous && { previous_response_id: previous }) }
    const answer = await gateway.request('/v1/responses', { body })
    t.equal(answer.status, 200, answer.text)
    return (answer.json() as { id: string }).id
  }
  const starts = [await create(), await create(), await create()]
  t.same(uses(upstream), [1, 1, 1])
  for (const [index, first] of starts.entries()) {
    let last = first
    for (let turn = 0; turn < 4; turn++) last = await create(last)
    t.equal((await gateway.request(`/v1/responses/${last}`, { method: 'GET' })).status, 200)
    t.equal(uses(upstream)[index], 6)
  }
})

t.test('the admin API and explain tell of them without telling one', async t => {
  const { line, origin } = await adminLine()
  const upstream = await startRawUpstream(t)
  upstream.answer(refusing(secret => secret === 0, refusal(401)))
  const yaml = `version: 1\n${CALLER}\nupstreams:\n  up: { kind: openai, base: "${upstream.origin}", ${THREE} }\nmodels: { m: up }\n${line}\n`
  const gateway = await startTestGateway(t, yaml, { env: { ...env, GATEWAY_ADMIN_KEY: ADMIN_SECRET } })
  for (let i = 0; i < 3; i++) t.equal((await gateway.chat()).status, 200)
  const answer = await adminOf(t, origin)('GET', '/admin/upstreams')
  t.match(answer.json(), {
    data: [{ name: 'up', secrets: 3, health: { state: 'closed', secrets: [{ state: 'open', reason: 'status 401' }] } }],
  })
  const explained = (await adminOf(t, origin)('GET', '/admin/config')).text
  for (const secret of SECRETS) t.notMatch(answer.text + explained, secret)
  const resting = (await gateway.request('/readyz?verbose', { method: 'GET' })).json() as { resting: unknown }
  t.same(resting.resting, { up: '1 secret: status 401' })
})

t.test(
  'secrets for tokens: each one gets its token ahead of requests, and each one that gets none is reported',
  async t => {
    const upstream = await startRawUpstream(t)
    const server = await startTokenServer(t, [CLIENT])
    const oauth = `{ type: oauth2, token_url: "${server.tokenUrl}", client_id: gateway, auth: basic }`
    const secrets = 'secrets: [{ env: RIGHT }, { env: KEY_1 }, { env: KEY_2 }]'
    const up = `{ kind: openai, base: "${upstream.origin}", credential: ${oauth}, ${secrets} }`
    const yaml = `version: 1\n${CALLER}\nupstreams: { up: ${up} }\nmodels: { m: up }\n`
    const { log, request } = await startTestGateway(t, yaml, { env: { ...env, RIGHT: CLIENT.client_secret } })
    const isTold = ({ msg }: LogLine): boolean => msg === 'an upstream has no new credential'
    const first = await log.find(isTold)
    t.match(first, { upstream: 'up', cause: /invalid_client/ })
    const second = await log.find(line => isTold(line) && line.credential !== first.credential)
    t.match([first.credential, second.credential], [String, String])
    t.same(server.asked.items.map(({ status }) => status).sort(), [200, 401, 401])
    t.match((await request('/readyz?verbose')).json(), { credentials: { up: /^2 secrets: .*invalid_client/ } })
  },
)

proveNoLeak(t)
