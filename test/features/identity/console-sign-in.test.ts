import t from 'tap'
import { ADMIN_SECRET, adminLine } from '../../helpers/admin.js'
import { startTestGateway } from '../../helpers/gateway.js'
import { CLIENT, startIssuer } from '../../helpers/issuer.js'
import { type Answer, request } from '../../helpers/raw-client.js'

t.test('who signs in at the issuer has the role of the claims, and nothing else opens a session', async t => {
  const issuer = await startIssuer(t)
  const client = `issuer: "${issuer.origin}", client_id: ${CLIENT.id}, client_secret: { env: CONSOLE_SECRET }`
  const role = 'role: { claim: /realm/roles, map: { ops: admin, "2000": viewer, staff: viewer, "1000": admin } }'
  const { line, origin } = await adminLine(
    `, oidc: { ${client}, allow: [127.0.0.1], name: email, address: "https://console.example.com/", ${role} }`,
  )
  const yaml = `version: 1
store: { type: memory }
keys: { caller: { secret: { env: CALLER_KEY } } }
upstreams: { sim: { kind: simulator } }
models: { m: { upstream: sim, as: sim-text } }
${line}
`
  const gateway = await startTestGateway(t, yaml, {
    env: { GATEWAY_ADMIN_KEY: ADMIN_SECRET, CONSOLE_SECRET: CLIENT.secret },
  })
  const get = (path: string, cookie = '') => request(t, origin, path, { headers: cookie === '' ? {} : { cookie } })
  /** What the browser keeps of an answer. */
  const kept = (answer: Answer, name: string): string =>
    new RegExp(`(${name}=[^;\\r\\n]*)`).exec(`${answer.header('set-cookie')}`)?.[1] ?? ''
  const begin = async () => {
    const answer = await get('/admin/oidc/start')
    t.equal(answer.status, 302)
    const { searchParams } = new URL(String(answer.header('location')))
    return { answer, query: searchParams, cookie: kept(answer, 'gateway_console_begun') }
  }
  const usual = { aud: CLIENT.id, email: 'ada@example.com', realm: { roles: ['others', 'staff', 'ops'] } }

  await t.test('the browser is sent there with PKCE, for the declared address', async t => {
    const { answer, query } = await begin()
    t.match(Object.fromEntries(query), {
      ...{ response_type: 'code', client_id: CLIENT.id, code_challenge_method: 'S256', scope: 'openid profile' },
      redirect_uri: 'https://console.example.com/admin/oidc/callback',
      ...{ state: /^[\w-]{43}$/, nonce: /^[\w-]{43}$/, code_challenge: /^[\w-]{43}$/ },
    })
    t.match(answer.header('set-cookie'), /HttpOnly; SameSite=Lax/)
    const ways = (await get('/admin/session/ways')).json()
    t.same(ways, { key: true, oidc: new URL(issuer.origin).host })
  })

  /** Comes back from the issuer, whose token has these claims; resolves with the answer. */
  const back = async (claims: object, change: { state?: string; more?: string; cookie?: string } = {}) => {
    const { query, cookie } = await begin()
    const nonce = query.get('nonce')
    issuer.instead.set('/token', { id_token: await issuer.sign({ ...usual, nonce, ...claims }) })
    const state = change.state ?? query.get('state')
    return await get(`/admin/oidc/callback?code=c&state=${state}${change.more ?? ''}`, change.cookie ?? cookie)
  }

  await t.test('the first entry of the map that the claim has is the role, and the log has the name', async t => {
    const answer = await back({}, { more: '&authuser=0&session_state=s' })
    t.equal(answer.header('location'), '/')
    const cookie = kept(answer, 'gateway_console')
    t.match((await get('/admin/session', cookie)).json(), { role: 'admin', name: 'ada@example.com' })
    await gateway.log.find(({ admin, by }) => admin === 'GET /admin/session' && by === 'ada@example.com')
    const viewer = kept(await back({ realm: { roles: ['staff'] } }), 'gateway_console')
    t.match((await get('/admin/session', viewer)).json(), { role: 'viewer' })
    const numbered = kept(await back({ realm: { roles: ['staff', '2000', '1000'] } }), 'gateway_console')
    t.match((await get('/admin/session', numbered)).json(), { role: 'viewer' }, 'in the order of the file')
    const change = { method: 'PUT', headers: { cookie: viewer, 'x-console': '1' }, body: { level: 'debug' } }
    t.equal((await request(t, origin, '/admin/log', change)).status, 403)
    const draft = {
      ...change,
      method: 'POST',
      body: { text: `models: { m: { upstream: sim, as: "$\{CONSOLE_SECRET}" } }` },
    }
    const checked = await request(t, origin, '/admin/plan/check', draft)
    t.equal(checked.status, 403, 'a draft would show the variables of the gateway')
    t.notMatch(checked.text, CLIENT.secret)
    t.match((await get('/admin/plan/file', viewer)).json(), { check: false, write: false })
    t.match((await get('/admin/plan/file', cookie)).json(), { check: true, write: false })
    const leave = { method: 'DELETE', headers: { cookie: viewer, 'x-console': '1' } }
    t.equal((await request(t, origin, '/admin/session', leave)).status, 200)
    t.equal((await get('/admin/session', viewer)).status, 401, 'a copy of the cookie is of no use')
    t.equal((await get('/admin/session', cookie)).status, 200)
  })

  await t.test('everything else is refused, and the log says why', async t => {
    const foreign = await begin()
    const cases: readonly (readonly [RegExp, Promise<Answer> | Answer])[] = [
      [/gives no role/, await back({ realm: { roles: ['others'] } })],
      [/email is not a name/, await back({ email: 7 })],
      [/nonce is another one/, await back({ nonce: 'of another sign-in' })],
      [/aud does not fit/, await back({ aud: 'another-client' })],
      [/expired/, await back({ exp: 1 })],
      [/not begun in this browser/, await back({}, { state: 'made-up' })],
      [/not begun in this browser/, await back({}, { cookie: foreign.cookie })],
      [/not begun in this browser/, await back({}, { cookie: 'gateway_console_begun=a.b.c.9999999999999.forged' })],
      [/another issuer answers/, await back({}, { more: '&iss=https://other.example.com' })],
      [/issuer has refused/, await back({}, { more: '&error=access_denied' })],
    ]
    for (const [why, answer] of cases) {
      const { status } = await answer
      t.equal(status, 302)
      t.equal((await answer).header('location'), '/#refused=person', String(why))
      t.notMatch(String((await answer).header('set-cookie')), /gateway_console=\w/, 'no session')
      await gateway.log.find(({ cause }) => why.test(String(cause)))
    }
    issuer.away = true
    const { query, cookie } = { query: foreign.query, cookie: foreign.cookie }
    const away = await get(`/admin/oidc/callback?code=c&state=${query.get('state')}`, cookie)
    t.equal(away.header('location'), '/#refused=issuer')
    t.notMatch(JSON.stringify(gateway.log.items), CLIENT.secret)
    issuer.away = false
  })

  await t.test('a session of a person ends with the roles that it was opened by', async t => {
    const cookie = kept(await back({}), 'gateway_console')
    t.equal((await get('/admin/session', cookie)).status, 200)
    await gateway.write('gateway.yaml', yaml.replace('ops: admin', 'others: admin'))
    const reload = { method: 'POST', headers: { authorization: `Bearer ${ADMIN_SECRET}` } }
    t.equal((await request(t, origin, '/admin/reload', reload)).status, 200)
    t.equal((await get('/admin/session', cookie)).status, 401)
  })
})
