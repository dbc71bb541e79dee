import t, { type Test } from 'tap'
import { ADMIN_SECRET, adminLine, adminOf } from '../helpers/admin.js'
import { hang } from '../helpers/answers.js'
import { startTestGateway, type TestGateway } from '../helpers/gateway.js'
import { type Answer, connectRaw, type RawClient, request, requestBytes } from '../helpers/raw-client.js'
import { type RawUpstream, startRawUpstream } from '../helpers/raw-upstream.js'
import { ask as askSocket, type End, HANDSHAKE } from '../helpers/realtime.js'

/** What a session of the console may do, and for how long. */

const NEXT_SECRET = 'the-next-key-of-the-admin-0123456789'

interface Stage {
  readonly gateway: TestGateway
  readonly admin: string
  /** Serves the model `silent`, and never answers. */
  readonly silent: RawUpstream
  /** The cookie of a new session; `beside`: one that the browser has already. */
  signIn(viewer?: boolean, beside?: string): Promise<string>
  asSession(cookie: string, method: string, path: string, body?: object): Promise<Answer>
}

async function stage(t: Test): Promise<Stage> {
  const silent = await startRawUpstream(t)
  silent.answer(hang)
  const { line, origin: admin } = await adminLine()
  const yaml = `version: 1
store: { type: memory }
keys: { caller: { secret: { env: CALLER_KEY }, models: ["*"] } }
upstreams:
  sim: { kind: simulator }
  up: { base: "${silent.origin}", speaks: { realtime: "GET /v1/realtime?model={model}" } }
models: { "sim-*": sim, silent: up }
${line.replace('env: GATEWAY_ADMIN_KEY', 'file: admin.key')}
`
  const gateway = await startTestGateway(t, yaml, { files: { 'admin.key': ADMIN_SECRET } })
  const asSession: Stage['asSession'] = (cookie, method, path, body) =>
    request(t, admin, path, { method, headers: { cookie, 'x-console': '1' }, ...(body === undefined ? {} : { body }) })
  const signIn: Stage['signIn'] = async (viewer = false, beside = '') => {
    const answer = await asSession(beside, 'POST', '/admin/session', { key: ADMIN_SECRET, viewer })
    t.equal(answer.status, 200, answer.text)
    return /^[^;]+/.exec(answer.header('set-cookie') ?? '')?.[0] ?? ''
  }
  return { gateway, admin, silent, signIn, asSession }
}

/** A stream of the admin API that has begun. */
async function begin(t: Test, admin: string, path: string, headers: Record<string, string>): Promise<RawClient> {
  const client = await connectRaw(t, admin)
  await client.send(requestBytes(admin, path, { headers }))
  t.match((await client.head()).line, '200')
  return client
}

async function play(t: Test, { gateway, admin }: Stage, cookie: string): Promise<End> {
  const path = '/admin/play/realtime?key=caller&model=sim-realtime'
  const asked = { key: null, path, headers: { cookie, origin: admin } }
  const { end, body } = await askSocket(t, { ...gateway, origin: admin }, asked)
  if (end === undefined) throw new Error(body)
  await end.texts.count(1)
  return end
}

t.test('no page asks in the name of a key of the store that has expired', async t => {
  const { admin, signIn, asSession } = await stage(t)
  const cookie = await signIn()
  const asked = (key: string) => asSession(cookie, 'POST', '/admin/play', { key, method: 'GET', path: '/v1/models' })
  const make = (name: string, more: object) => asSession(cookie, 'POST', '/admin/keys', { name, ...more })
  t.equal((await make('good', {})).status, 201)
  t.equal((await make('old', { expires: '2020-01-01' })).status, 201)
  t.equal((await asked('good')).status, 200)
  t.match(await asked('old'), { status: 409, text: /this key is disabled or has expired/ })
  const shake = { upgrade: 'websocket', connection: 'Upgrade', 'sec-websocket-version': '13', origin: admin, cookie }
  const headers = { ...shake, 'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==' }
  const path = '/admin/play/realtime?key=old&model=sim-realtime'
  t.equal((await request(t, admin, path, { headers })).status, 409)
})

t.test('streams end with the session that opened them, and not before', async t => {
  const here = await stage(t)
  const { admin, signIn, asSession } = here
  const [leaves, stays] = [await signIn(), await signIn()]
  const paths = ['/admin/live', '/admin/tail']
  const ended = await Promise.all(paths.map(path => begin(t, admin, path, { cookie: leaves })))
  const open = await begin(t, admin, '/admin/live', { cookie: stays })
  const [socket, other] = [await play(t, here, leaves), await play(t, here, stays)]
  t.equal((await asSession(leaves, 'DELETE', '/admin/session')).status, 200)
  for (const client of ended) await client.closed()
  await socket.gone.count(1)
  t.ok(open.open)
  t.equal(other.gone.items.length, 0)
})

t.test('streams end when the admin key changes, with a session or with the key itself', async t => {
  const here = await stage(t)
  const { gateway, admin, signIn } = here
  const cookie = await signIn()
  const streams = [
    await begin(t, admin, '/admin/live', { cookie }),
    await begin(t, admin, '/admin/tail', { authorization: `Bearer ${ADMIN_SECRET}` }),
  ]
  const socket = await play(t, here, cookie)
  await gateway.write('admin.key', NEXT_SECRET)
  t.equal((await adminOf(t, admin)('POST', '/admin/reload')).status, 200)
  for (const client of streams) await client.closed()
  await socket.gone.count(1)
})

t.test('a session that only looks sees what became of a task, and not what it is about', async t => {
  const { gateway, admin, signIn, asSession } = await stage(t)
  const prompt = 'a film that no one else may know of'
  const made = await gateway.request('/v1/videos', { method: 'POST', body: { model: 'sim-video', prompt } })
  t.equal(made.status, 200, made.text)
  const { id } = made.json() as { readonly id: string }
  const whole = await adminOf(t, admin)('GET', `/admin/tasks?id=${id}`)
  t.match(whole.text, prompt)
  const shown = await asSession(await signIn(true), 'GET', `/admin/tasks?id=${id}`)
  t.notMatch(shown.text, prompt)
  const [task = {}] = (shown.json() as { readonly data: readonly object[] }).data
  t.match(task, { id, kind: 'video', owner: 'caller', model: 'sim-video', target: { upstream: 'sim' } })
  t.same(
    ['input', 'fields', 'artifacts', 'notes', 'hook', 'origin', 'trace'].filter(name => name in task),
    [],
  )
  t.match((await asSession(await signIn(), 'GET', `/admin/tasks?id=${id}`)).text, prompt)
})

t.test('a session that only looks becomes another by the admin key, for our own page alone', async t => {
  const { admin, signIn, asSession } = await stage(t)
  const viewer = await signIn(true)
  const both = await signIn(false, viewer)
  t.match((await asSession(both, 'GET', '/admin/session')).json(), { role: 'admin' })
  t.equal((await asSession(viewer, 'POST', '/admin/session', { key: 'a wrong key' })).status, 401)
  for (const headers of [{}, { 'x-console': '1', origin: 'http://127.0.0.1:1' }]) {
    const asked = { method: 'POST', headers: { cookie: viewer, ...headers }, body: { key: ADMIN_SECRET } }
    t.equal((await request(t, admin, '/admin/session', asked)).status, 403)
  }
})

t.test('the line of a WebSocket has the status of its answer, or says that its client left before', async t => {
  const here = await stage(t)
  const { gateway, admin, signIn } = here
  const headers = { cookie: await signIn(), origin: admin }
  const path = (model: string): string => `/admin/play/realtime?key=caller&model=${model}`
  const statuses = async (count: number): Promise<readonly unknown[]> => {
    const lines = await gateway.log.count(count, line => line.admin === 'GET /admin/play/realtime')
    return lines.map(({ status }) => status)
  }
  const refused = await askSocket(t, { ...gateway, origin: admin }, { key: null, path: path('no-such'), headers })
  t.not(refused.status, 101)
  t.same(await statuses(1), [refused.status])
  await play(t, here, headers.cookie)
  t.same(await statuses(2), [refused.status, 101])
  const leaving = await connectRaw(t, admin)
  await leaving.send(requestBytes(admin, path('silent'), { headers: { ...HANDSHAKE, ...headers } }))
  await here.silent.requests.count(1)
  leaving.socket.destroy()
  t.same(await statuses(3), [refused.status, 101, 499])
})
