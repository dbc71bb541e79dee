import { Ajv2020 } from 'ajv/dist/2020.js'
import t, { type Test } from 'tap'
import { TABLE } from '../../src/admin/routes/index.js'
import { run, start } from '../cli/bin.js'
import { ADMIN_SECRET, type AdminAnswer, adminLine, adminOf } from '../helpers/admin.js'
import { startTestGateway, type TestGateway } from '../helpers/gateway.js'
import { type Answer, connectRaw, request } from '../helpers/raw-client.js'

const BASE = 'upstreams: { sim: { kind: simulator } }\nmodels: { "sim-*": sim }\nstore: { type: memory }\n'
const CALLER = 'keys: { caller: { secret: { env: CALLER_KEY } } }'
const UPSTREAM_SECRET = 'the-secret-of-the-upstream-0123456789'

interface Stage {
  readonly gateway: TestGateway
  readonly origin: string
  readonly ask: (method: string, path: string, body?: object) => Promise<AdminAnswer>
}

async function stage(t: Test, more = ''): Promise<Stage> {
  const { line, origin } = await adminLine()
  const env = { GATEWAY_ADMIN_KEY: ADMIN_SECRET, NORTH_KEY: UPSTREAM_SECRET }
  const gateway = await startTestGateway(t, `version: 1\n${CALLER}\n${BASE}${line}\n${more}`, { env })
  return { gateway, origin, ask: adminOf(t, origin) }
}

function chat({ gateway }: Stage, t: Test, key: string): Promise<Answer> {
  const body = { model: 'sim-text', messages: [{ role: 'user', content: 'Hello.' }] }
  return request(t, gateway.origin, '/v1/chat/completions', { key, body })
}

t.test('without the admin key, every path gets the same 401', async t => {
  const { origin, gateway } = await stage(t)
  const credentials = [
    {},
    { authorization: `Bearer ${ADMIN_SECRET}x` },
    { authorization: ADMIN_SECRET },
    { authorization: `Basic ${ADMIN_SECRET}` },
    { 'x-api-key': ADMIN_SECRET },
    { authorization: `Bearer ${gateway.key}` },
  ]
  for (const headers of credentials) {
    for (const path of ['/admin/keys', '/admin/nothing', '/nothing', `/admin/keys?key=${ADMIN_SECRET}`]) {
      const answer = await request(t, origin, path, { headers })
      t.equal(answer.status, 401, `${path} ${JSON.stringify(headers)}`)
      t.match(answer.json(), { error: { type: 'unauthenticated', message: String } })
      t.equal(answer.header('www-authenticate'), 'Bearer')
      t.equal(answer.header('access-control-allow-origin'), undefined)
    }
  }
  const twice = `GET /admin/keys HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${ADMIN_SECRET}\r\nauthorization: Bearer other\r\n\r\n`
  t.match(await rawAnswer(origin, twice), /^HTTP\/1\.1 401 /)
})

t.test('an upgrade that is not followed is a plain request, also with a body that comes later', async t => {
  const { origin } = await stage(t)
  const lines = ['GET /admin/config HTTP/1.1', 'host: x', `authorization: Bearer ${ADMIN_SECRET}`, 'content-length: 2']
  for (const upgrade of [[], ['connection: upgrade', 'upgrade: h2c'], ['connection: upgrade', 'upgrade: websocket']]) {
    const client = await connectRaw(t, origin)
    const head = [...lines, ...upgrade, '', ''].join('\r\n')
    await client.send(`${head}{}`, [head.length])
    const { status, text } = await client.answer()
    t.equal(status, 400)
    t.match(text, 'body')
  }
})

t.test('the clients’ listener serves nothing of it, and takes no admin key', async t => {
  const { gateway } = await stage(t)
  for (const key of [gateway.key, ADMIN_SECRET]) {
    const { status } = await request(t, gateway.origin, '/admin/keys', { key })
    t.equal(status, key === ADMIN_SECRET ? 401 : 404)
  }
})

t.test('keys of the file are shown with the regions that they and their groups allow', async t => {
  const { line, origin } = await adminLine()
  const yaml = `version: 1
groups: { europe: { regions: [eu, us] } }
keys: { caller: { secret: { env: CALLER_KEY }, group: europe, regions: [eu] }, free: { secret: { env: CALLER_KEY_2 } } }
upstreams: { sim: { kind: simulator, region: eu }, far: { kind: simulator, region: us } }
models: { "sim-*": sim, other: far }
store: { type: memory }
${line}`
  const env = { GATEWAY_ADMIN_KEY: ADMIN_SECRET, CALLER_KEY_2: 'another-key-of-a-caller-0123456789' }
  await startTestGateway(t, yaml, { env })
  const ask = adminOf(t, origin)
  const { data } = (await ask('GET', '/admin/keys')).json()
  t.match(data, [{ name: 'caller', regions: ['eu'] }, { name: 'free' }])
  t.notOk('regions' in (data[1] ?? {}))
  t.match((await ask('GET', '/admin/keys/caller')).json(), { regions: ['eu'] })
})

t.test('keys of the file are shown with their terms, in the words of keys of the store', async t => {
  const terms = {
    ...{ group: 'crew', models: ['sim-*'], routes: ['POST /v1/chat/*'], networks: ['127.0.0.1'], priority: 'low' },
    limits: { requests: ['10/s', '600/min'], budget: '5 USD/day', in_flight: 8, body: '2048', unpriced: 'free' },
  }
  const more = `groups: { crew: {} }\nkeys: { caller: ${JSON.stringify({ secret: { env: 'CALLER_KEY' }, ...terms })} }`
  const { line, origin } = await adminLine()
  await startTestGateway(t, `version: 1\n${BASE}${line}\n${more}`, { env: { GATEWAY_ADMIN_KEY: ADMIN_SECRET } })
  const ask = adminOf(t, origin)
  const shown = (await ask('GET', '/admin/keys/caller')).json()
  t.same(shown, { name: 'caller', source: 'file', secrets: 1, disabled: false, strict: false, ...terms })
  t.same((await ask('GET', '/admin/keys')).json().data, [shown])
  t.match((await ask('POST', '/admin/keys', { name: 'ann', ...terms })).json(), terms)
})

t.test('a key is created, listed, changed, rotated and revoked, and each counts at once here', async t => {
  const at = await stage(t)
  const { ask } = at
  const made = await ask('POST', '/admin/keys', { name: 'ann', models: ['sim-*'] })
  t.equal(made.status, 201)
  t.equal(made.header('cache-control'), 'no-store')
  const { secret, ...told } = made.json()
  t.match(told, { name: 'ann', source: 'store', models: ['sim-*'], secrets: 1 })
  t.equal((await chat(at, t, secret)).status, 200)
  t.equal((await ask('POST', '/admin/keys', { name: 'ann' })).status, 409)

  const listed = (await ask('GET', '/admin/keys')).json()
  t.match(listed.data, [
    { name: 'caller', source: 'file' },
    { name: 'ann', source: 'store' },
  ])
  t.notMatch(JSON.stringify(listed), secret)

  t.equal((await ask('PATCH', '/admin/keys/ann', { models: ['other'] })).status, 200)
  t.equal((await chat(at, t, secret)).status, 404, 'the model is not found')
  t.equal((await ask('PATCH', '/admin/keys/ann', { models: null, disabled: true })).status, 200)
  t.equal((await chat(at, t, secret)).status, 401)
  t.equal((await ask('PATCH', '/admin/keys/ann', { disabled: false })).status, 200)
  t.equal((await chat(at, t, secret)).status, 200)

  const { secret: next } = (await ask('POST', '/admin/keys/ann/rotate')).json()
  t.equal((await chat(at, t, secret)).status, 401)
  t.equal((await chat(at, t, next)).status, 200)
  const { secret: last } = (await ask('POST', '/admin/keys/ann/rotate', { keep: '1h' })).json()
  t.equal((await chat(at, t, next)).status, 200)
  t.match((await ask('GET', '/admin/keys/ann')).json(), { name: 'ann', secrets: 2 })

  for (const secrets of [3, 4])
    t.match((await ask('POST', '/admin/keys/ann/rotate', { keep: '1h' })).json(), { secrets })
  const full = await ask('POST', '/admin/keys/ann/rotate', { keep: '1h' })
  t.equal(full.status, 409)
  t.match(full.json().error.message, '4 secrets of the key are still valid: wait until one ends')
  for (const key of [next, last]) t.equal((await chat(at, t, key)).status, 200, 'what is kept is not dropped')
  t.match((await ask('GET', '/admin/keys/ann')).json(), { secrets: 4 })

  t.match((await ask('DELETE', '/admin/keys/ann')).json(), { name: 'ann', revoked: true })
  for (const key of [next, last]) t.equal((await chat(at, t, key)).status, 401)
  t.equal((await ask('DELETE', '/admin/keys/ann')).status, 404)
  t.equal((await ask('GET', '/admin/keys/ann')).status, 404)
})

t.test('terms that have no effect, and budgets over what has no price, are warnings in the answer', async t => {
  const { line, origin } = await adminLine()
  const base = BASE.replace('kind: simulator }', '$&, north: { kind: openai-compatible, base: "http://127.0.0.1:9" }')
  const yaml = `version: 1\n${CALLER}\n${base.replace(': sim }', ': sim, far: north }')}${line}\nledger: { retention: 30d }\n`
  await startTestGateway(t, yaml, { env: { GATEWAY_ADMIN_KEY: ADMIN_SECRET } })
  const ask = adminOf(t, origin)
  const warning = async (name: string, terms: object): Promise<string | undefined> =>
    (await ask('POST', '/admin/keys', { name, ...terms })).json().warning
  t.equal(await warning('ann', { routes: ['PUT /zzz'] }), 'routes: no route matches "PUT /zzz", so it permits nothing')
  const budget = { limits: { budget: '5 USD/day' } }
  t.match(await warning('bob', budget), 'limits.budget: no price is known for "far", which it refuses')
  t.equal(await warning('eve', { ...budget, models: ['sim-*'] }), undefined)
  t.match((await ask('PATCH', '/admin/keys/eve', { models: ['far'] })).json().warning, 'no price is known')
})

t.test('what is wrong with a request is said', async t => {
  const { ask, origin } = await stage(t)
  const cases: readonly [string, string, object | undefined, number, RegExp][] = [
    ['POST', '/admin/keys', {}, 400, /"name" is missing/],
    ['POST', '/admin/keys', { name: 'no spaces' }, 400, /name: expected letters/],
    ['POST', '/admin/keys', { name: 'ann', modles: [] }, 400, /unknown member "modles"/],
    ['POST', '/admin/keys', { name: 'ann', models: 'all' }, 400, /models: expected a list/],
    ['POST', '/admin/keys', { name: 'ann', expires: 'soon' }, 400, /expires: expected a date/],
    ['POST', '/admin/keys', { name: 'ann', limits: { requests: '10/fortnight' } }, 400, /limits.requests/],
    ['POST', '/admin/keys', { name: 'ann', group: 'nobody' }, 400, /group/],
    ['POST', '/admin/keys', { name: 'ann', networks: ['::ffff:10.0.0.0/8'] }, 400, /networks/],
    ['POST', '/admin/rollback', { generation: 'abc' }, 400, /generation: expected/],
    ['POST', '/admin/rollback', { generation: null }, 400, /generation: expected/],
    ['POST', '/admin/keys/ann/rotate', { keep: 'long' }, 400, /keep: expected a duration/],
    ['PATCH', '/admin/keys/caller', { disabled: true }, 409, /it is in the file/],
    ['DELETE', '/admin/keys/caller', undefined, 409, /it is in the file/],
    ['GET', '/admin/keys?limit=0', undefined, 400, /limit: expected a number/],
    ['GET', '/admin/keys?limits=1', undefined, 400, /unknown parameter "limits"/],
    ['GET', '/admin/keys?after=x', undefined, 400, /after: expected/],
    ['GET', '/admin/tasks?after=x', undefined, 400, /after: expected/],
    ['GET', '/admin/config?section=all', undefined, 400, /section: expected one of keys/],
    ['PUT', '/admin/keys', undefined, 405, /only GET, HEAD, POST/],
    ['GET', '/admin/nothing', undefined, 404, /no such path/],
    ['GET', '/admin/keys/%zz', undefined, 404, /no such path/],
    ['POST', '/admin/drain', { now: true }, 400, /takes no body/],
  ]
  for (const [method, path, body, status, message] of cases) {
    const answer = await ask(method, path, body)
    t.equal(answer.status, status, `${method} ${path}`)
    t.match(answer.json().error.message, message)
  }
  const large = await request(t, origin, '/admin/keys', { key: ADMIN_SECRET, body: `"${'x'.repeat(70_000)}"` })
  t.equal(large.status, 413)
  const deep = `{"name":"ann","limits":${'['.repeat(5000)}${']'.repeat(5000)}}`
  const nested = await request(t, origin, '/admin/keys', { key: ADMIN_SECRET, body: deep })
  t.equal(nested.status, 400)
  t.match(nested.text, 'nested deeper than 64 levels')
  t.equal((await request(t, origin, '/admin/keys', { key: ADMIN_SECRET, body: '{"name":' })).status, 400)
})

t.test('a length above the bound is refused at once, and a client that leaves in its body is a 499', async t => {
  const { origin, gateway } = await stage(t)
  const head = (length: number): string =>
    `POST /admin/keys HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${ADMIN_SECRET}\r\ncontent-length: ${length}\r\n\r\n`
  const large = await connectRaw(t, origin)
  await large.send(head(70_000))
  t.equal((await large.answer()).status, 413)
  const leaving = await connectRaw(t, origin)
  await leaving.send(`${head(100)}{"name":`)
  leaving.socket.destroySoon()
  const line = await gateway.log.find(({ status }) => status === 499)
  t.match(line, { level: 'info', msg: 'admin request', admin: 'POST /admin/keys', error: undefined })
})

t.test('HEAD is a GET without its body, but not of a stream', async t => {
  const { origin } = await stage(t)
  const headers = { authorization: `Bearer ${ADMIN_SECRET}` }
  for (const [path, status] of [
    ['/admin/keys', 200],
    ['/admin/keys?limit=0', 400],
    ['/admin/tail', 405],
  ] as const) {
    const answer = await fetch(origin + path, { method: 'HEAD', headers })
    t.equal(answer.status, status, path)
    t.equal(await answer.text(), '')
  }
  t.equal((await fetch(`${origin}/admin/keys`, { method: 'HEAD' })).status, 401)
})

t.test('lists come in pages that meet without a gap', async t => {
  const { ask } = await stage(t)
  const names = Array.from({ length: 7 }, (_, index) => `key-${index}`)
  for (const name of names) t.equal((await ask('POST', '/admin/keys', { name })).status, 201)
  const seen: string[] = []
  let next: string | undefined
  for (let pages = 0; pages < 10; pages++) {
    const page = (await ask('GET', `/admin/keys?limit=3${next === undefined ? '' : `&after=${next}`}`)).json()
    t.ok(page.data.length <= 3)
    seen.push(...page.data.map(({ name }) => name))
    next = page.next
    if (next === undefined) break
  }
  t.same(seen.slice(0, 1), ['caller'])
  t.same(seen.slice(1).toSorted(), names)
})

t.test('the configuration is shown without a secret, a digest or the value of a header', async t => {
  const more = `webhooks: { secret: { env: NORTH_KEY } }\n`
  const { ask, gateway } = await stage(t, more)
  await gateway.write(
    'gateway.yaml',
    `version: 1\n${CALLER}\n${BASE.replace(
      'sim: { kind: simulator }',
      'sim: { kind: simulator }, north: { base: "https://north.example", credential: { in: header, name: x-key, secret: { env: NORTH_KEY } }, headers: { x-team: the-team-header }, speaks: { chat: POST /v1/chat/completions } }',
    )}${more}`,
  )
  t.equal((await ask('POST', '/admin/reload')).status, 200)
  const all = await ask('GET', '/admin/config')
  const section = await ask('GET', '/admin/config?section=upstreams')
  for (const { text } of [all, section]) {
    for (const secret of [UPSTREAM_SECRET, ADMIN_SECRET, gateway.key, 'the-team-header']) t.notMatch(text, secret)
  }
  t.match(all.json().config.upstreams.north, { base: 'https://north.example', headers: { 'x-team': '[secret]' } })
  t.match(all.json().config.listen, { host: '127.0.0.1' })
  t.match(section.json().data.at(-1), { name: 'north', credential: { secret: '[secret]' } })
  const names = (answer: AdminAnswer): readonly string[] => answer.json().data.map(({ name }) => name)
  t.same(names(await ask('GET', '/admin/upstreams')), ['sim', 'north'])
  t.same(names(await ask('GET', '/admin/models')), ['sim-*'])
  t.same((await ask('GET', '/admin/tasks')).json(), { data: [] })
})

t.test('a reload by the API takes effect, or tells what is wrong; a changed address needs a restart', async t => {
  const { ask, gateway } = await stage(t)
  const text = `version: 1\n${CALLER}\n${BASE}`
  await gateway.write('gateway.yaml', `${text}admin: { port: 1, secret: { env: GATEWAY_ADMIN_KEY } }\n`)
  t.match((await ask('POST', '/admin/reload')).json(), { generation: 2 })
  t.match(await gateway.log.find(line => line.msg === 'needs a restart to take effect'), { setting: 'admin' })
  await gateway.write('gateway.yaml', `${text}models: 7\n`)
  const refused = await ask('POST', '/admin/reload')
  t.equal(refused.status, 422)
  t.match(refused.json().error, { type: 'invalid_configuration', problems: [/gateway\.yaml:\d+:\d+/] })
  t.match((await ask('GET', '/admin/generations')).json().data, [{ number: 2, serving: true, requests: 0 }])
})

t.test('a former generation is listed while a request holds it', async t => {
  const at = await stage(t)
  const slow = `${BASE.replace('{ kind: simulator }', '{ kind: simulator, headers: { x-simulate: pace=1m } }')}`
  await at.gateway.write('gateway.yaml', `version: 1\n${CALLER}\n${slow}`)
  t.match((await at.ask('POST', '/admin/reload')).json(), { generation: 2 })
  const open = await at.gateway.open('/v1/chat/completions', {
    body: { model: 'sim-text', stream: true, messages: [{ role: 'user', content: 'Hello.' }] },
  })
  await open.head()
  await at.gateway.write('gateway.yaml', `version: 1\n${CALLER}\n${BASE}log: { level: warn }\n`)
  t.equal((await at.ask('POST', '/admin/reload')).status, 200)
  t.match((await at.ask('GET', '/admin/generations')).json().data, [
    { number: 3, serving: true },
    { number: 2, serving: false, requests: 1 },
  ])
})

t.test('the document names every route, and its schemas are valid', async t => {
  const { ask } = await stage(t)
  const document = (await ask('GET', '/admin/openapi.json')).json()
  t.match(document, { openapi: '3.1.0', info: { title: String, version: String } })
  const told = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.keys(item).map(method => `${method.toUpperCase()} ${path}`),
  )
  t.same(told.toSorted(), TABLE.map(({ method, path }) => `${method} ${path}`).toSorted())
  const ids = Object.values(document.paths).flatMap(item => Object.values(item).map(one => one.operationId))
  t.equal(new Set(ids).size, ids.length)
  const ajv = new Ajv2020({ strict: false })
  for (const { path, query = {}, body = {}, answer } of TABLE) {
    for (const schema of [...Object.values(query), body, answer]) t.ok(ajv.validateSchema(schema), path)
  }
  const keys = ajv.compile(TABLE.find(({ path, method }) => path === '/admin/keys' && method === 'GET')?.answer ?? {})
  t.ok(keys((await ask('GET', '/admin/keys')).json()), 'an answer fits its schema')
})

t.test('--admin-port starts it without a section, with a key of its own, and 0 switches it off', async t => {
  const { origin } = await adminLine()
  const cwd = t.testdir({ 'gateway.yaml': `version: 1\n${CALLER}\n${BASE}admin: {}\n` })
  const { port } = new URL(origin)
  const env = { CALLER_KEY: 'the-key-of-the-caller-0123456789' }
  const bin = start(t, ['serve', '--port', '0', '--admin-port', port, '--show-key', '--no-watch'], { cwd, env })
  const [, key = ''] = await bin.until(/^console +http:\/\/127\.0\.0\.1:\d+.*, key: (gw-\S+)/m)
  t.equal((await request(t, origin, '/admin/models', { key })).status, 200)
  t.equal((await request(t, origin, '/admin/drain', { key, method: 'POST' })).status, 202)
  t.match(await bin.ended, { code: 0 })

  const silent = start(t, ['serve', '--port', '0', '--admin-port', port, '--no-watch'], { cwd, env })
  await silent.until(/^console .*key: kept in /m)
  t.notMatch(silent.stdout + silent.stderr, key)
  silent.child.kill('SIGTERM')
  await silent.ended

  const off = start(t, ['serve', '--port', '0', '--admin-port', '0', '--no-watch'], { cwd, env })
  await off.until(/^models /m)
  t.notMatch(off.stdout, /^console/m)
})

t.test('a host that others reach, without tls, is a warning; a port in use ends the start', async t => {
  const cwd = t.testdir({ 'gateway.yaml': `version: 1\n${CALLER}\n${BASE}admin: { host: 0.0.0.0 }\n` })
  const { stdout, stderr, code } = await run(['validate', 'gateway.yaml'], { cwd })
  t.match(stdout + stderr, /gateway\.yaml:6:16 +admin\.host +warning: "0\.0\.0\.0" can be reached from other machines/)
  t.equal(code, 0)
  const { origin } = await stage(t)
  const { port } = new URL(origin)
  const second = await run(['serve', '--port', '0', '--admin-port', port], { cwd, env: { CALLER_KEY: 'x'.repeat(20) } })
  t.match(second, {
    code: 1,
    stderr: /is in use by another process; choose another port \(admin\.port or --admin-port\)/,
  })
})

t.test(
  'F-P3 if another process has the port that the file names, requests are served, and the log says it',
  async t => {
    const { origin } = await stage(t)
    const { port } = new URL(origin)
    const cwd = t.testdir({ 'gateway.yaml': `version: 1\n${CALLER}\n${BASE}admin: { port: ${port} }\n` })
    const second = start(t, ['serve', '--port', '0', '--no-watch'], { cwd, env: { CALLER_KEY: 'x'.repeat(20) } })
    await second.until(/"msg":"listening"/)
    t.match(second.stderr, /no admin API, console and metrics: their port is in use/)
    t.notMatch(second.stdout, /^console/m)
    const [, address = ''] = /listening on (\S+)/.exec(second.stdout) ?? []
    t.equal((await request(t, address, '/readyz')).status, 200)
    second.child.kill('SIGTERM')
    t.equal((await second.ended).code, 0)
  },
)

async function rawAnswer(origin: string, bytes: string): Promise<string> {
  const { connect } = await import('node:net')
  const { hostname, port } = new URL(origin)
  const socket = connect(Number(port), hostname)
  socket.end(bytes)
  let text = ''
  for await (const piece of socket) text += piece
  return text
}

t.test('limits are shown with what is used of them, also those of a key of the store', async t => {
  const at = await stage(t, 'groups: { small: { limits: { requests: 5/day } } }\n')
  const made = await at.ask('POST', '/admin/keys', { name: 'ann', group: 'small', limits: { requests: '3/day' } })
  const { secret } = made.json()
  t.equal((await chat(at, t, secret)).status, 200)
  t.match((await at.ask('GET', '/admin/limits')).json().data, [
    { scope: 'group', name: 'small', limits: [{ unit: 'requests', window: 'day', limit: 5, used: 1, left: 4 }] },
  ])
  t.match((await at.ask('GET', '/admin/limits?scope=key&name=ann')).json().data, [
    { scope: 'key', name: 'ann', limits: [{ unit: 'requests', limit: 3, used: 1, left: 2 }] },
    { scope: 'group', name: 'small', limits: [{ used: 1 }] },
  ])
  t.same((await at.ask('GET', '/admin/limits?scope=key&name=bob')).json(), { data: [] })
  t.equal((await at.ask('GET', '/admin/limits?scope=all')).status, 400)
})
