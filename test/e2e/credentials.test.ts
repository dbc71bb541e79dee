import { generateKeyPairSync } from 'node:crypto'
import { exportJWK, jwtVerify } from 'jose'
import t, { type Test } from 'tap'
import { CHAT_ANSWER, chatEvent, DONE, json, stream } from '../helpers/answers.js'
import { proveNoLeak } from '../helpers/canaries.js'
import { startConnectProxy } from '../helpers/connect-proxy.js'
import { CALLER, type GatewayOptions, startTestGateway, type TestGateway } from '../helpers/gateway.js'
import { withResolvers } from '../helpers/journal.js'
import { type RawUpstream, type Script, startRawUpstream } from '../helpers/raw-upstream.js'
import { CLIENT, startTokenServer, type TokenServer } from '../helpers/token-server.js'

/** What upstreams get, for each type of credential. */

async function stage(
  t: Test,
  credential: string,
  options: GatewayOptions = {},
): Promise<{ gateway: TestGateway; upstream: RawUpstream }> {
  const upstream = await startRawUpstream(t)
  upstream.answer(json(CHAT_ANSWER))
  const yaml = `version: 1
${CALLER}
upstreams:
  up:
    base: "${upstream.origin}"
    speaks: { chat: POST /v1/chat/completions }
    ${credential}
models: { m: up }
`
  return { upstream, gateway: await startTestGateway(t, yaml, options) }
}

const oauth = ({ tokenUrl }: TokenServer, more = 'secret: { env: CLIENT_SECRET }'): string =>
  `credential: { type: oauth2, token_url: "${tokenUrl}", client_id: gateway, scope: models, ${more} }`

const ENV = { CLIENT_SECRET: CLIENT.client_secret }

/** The token of the nth request. */
function tokenAt({ requests }: RawUpstream, nth: number): string | undefined {
  return /^Bearer (.+)$/.exec(requests.items[nth]?.header('authorization') ?? '')?.[1]
}

t.test('a secret in a header, in the query, and as the password of a user', async t => {
  const env = { PASSWORD: 'pass: word%' }
  const header = await stage(t, 'credential: { type: header, name: X-Key, secret: { env: PASSWORD } }', { env })
  t.equal((await header.gateway.chat()).status, 200)
  t.equal(header.upstream.requests.items[0]?.header('x-key'), 'pass: word%')
  const query = await stage(t, 'credential: { type: query, name: key, secret: { env: PASSWORD } }', { env })
  t.equal((await query.gateway.chat()).status, 200)
  t.equal(query.upstream.requests.items[0]?.target, '/v1/chat/completions?key=pass%3A%20word%25')
  const basic = await stage(t, 'credential: { type: basic, user: team, secret: { env: PASSWORD } }', { env })
  t.equal((await basic.gateway.chat()).status, 200)
  const sent = basic.upstream.requests.items[0]?.header('authorization')
  t.equal(sent, `Basic ${Buffer.from('team:pass: word%').toString('base64')}`)
})

t.test('several headers, of which some are secret', async t => {
  const credential = 'credential: { type: headers, headers: { X-App: shop, X-Secret: { env: PART } } }'
  const { gateway, upstream } = await stage(t, credential, { env: { PART: 'the-second-part' } })
  const spoofed = await gateway.chat({}, { headers: { 'x-app': 'other', 'x-secret': 'mine' } })
  t.equal(spoofed.status, 200)
  t.equal(upstream.requests.items[0]?.header('x-app'), 'shop')
  t.equal(upstream.requests.items[0]?.header('x-secret'), 'the-second-part')
})

t.test('oauth2: one token for all who wait, and for those who follow', async t => {
  const server = await startTokenServer(t, [CLIENT])
  const { gateway, upstream } = await stage(t, oauth(server), { env: ENV })
  const answers = await Promise.all(Array.from({ length: 40 }, () => gateway.chat()))
  t.same(new Set(answers.map(({ status }) => status)), new Set([200]))
  t.equal((await gateway.chat()).status, 200)
  t.equal(server.asked.items.length, 1)
  const tokens = new Set(upstream.requests.items.map((_, at) => tokenAt(upstream, at)))
  t.equal(tokens.size, 1)
  t.match([...tokens][0], /^\S{20,}$/)
})

t.test('oauth2: the token server is reached by the proxy of its upstream', async t => {
  const [server, proxy] = [await startTokenServer(t, [CLIENT]), await startConnectProxy(t)]
  const { gateway } = await stage(t, `${oauth(server)}\n    proxy: "${proxy.origin}"`, { env: ENV })
  t.equal((await gateway.chat()).status, 200)
  t.equal(proxy.asked.items[0]?.authority, new URL(server.tokenUrl).host)
})

t.test(
  'oauth2: the client proves itself by a form, by a signed assertion, and with a secret that is refused',
  async t => {
    const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const jwk = { ...(await exportJWK(publicKey)), alg: 'ES256', use: 'sig', kid: 'k1' }
    const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
    const form = await startTokenServer(t, [{ ...CLIENT, token_endpoint_auth_method: 'client_secret_post' }])
    const posted = await stage(t, oauth(form, 'auth: body, secret: { env: CLIENT_SECRET }'), { env: ENV })
    t.equal((await posted.gateway.chat()).status, 200)
    t.equal(form.asked.items[0]?.authorization, undefined)
    const { client_secret: _, ...rest } = CLIENT
    const asserted = await startTokenServer(t, [
      {
        ...rest,
        token_endpoint_auth_method: 'private_key_jwt',
        token_endpoint_auth_signing_alg: 'ES256',
        jwks: { keys: [jwk] },
      },
    ])
    const key = 'key: { file: key.pem }, algorithm: ES256, key_id: k1'
    const signed = await stage(t, oauth(asserted, key), { files: { 'key.pem': pem } })
    t.equal((await signed.gateway.chat()).status, 200)
    const refusing = await startTokenServer(t, [CLIENT])
    const wrong = await stage(t, oauth(refusing), { env: { CLIENT_SECRET: 'another secret' } })
    const answer = await wrong.gateway.chat()
    t.equal(answer.status, 502)
    t.equal(wrong.upstream.requests.items.length, 0, 'the upstream was not asked')
    const line = await wrong.gateway.log.find(({ msg }) => msg === 'an upstream has no new credential')
    t.match(line, { upstream: 'up', cause: /status 401 \(invalid_client\)/ })
    t.match(await wrong.gateway.log.find(({ msg }) => msg === 'request'), { attempts: [{ phase: 'credential' }] })
    const ready = await wrong.gateway.request('/readyz?verbose')
    t.match(JSON.parse(ready.text).credentials, { up: /invalid_client/ })
  },
)

t.test('oauth2: a token that the upstream refuses is renewed once, and the request sent again', async t => {
  const server = await startTokenServer(t, [CLIENT])
  const { gateway, upstream } = await stage(t, oauth(server), { env: ENV })
  t.equal((await gateway.chat()).status, 200)
  const first = tokenAt(upstream, 0)
  const refusal = json({ error: { message: 'expired' } }, { status: 401 })
  upstream.answer(refusal, stream([chatEvent('Hello'), DONE]))
  const answer = await gateway.chat({ stream: true })
  t.equal(answer.status, 200)
  t.match(answer.text, 'Hello')
  t.equal(upstream.requests.items.length, 3)
  t.equal(upstream.requests.items[2]?.body.toString(), upstream.requests.items[1]?.body.toString())
  t.equal(tokenAt(upstream, 1), first)
  t.not(tokenAt(upstream, 2), first)
  upstream.answer(refusal)
  t.equal((await gateway.chat()).status, 502, 'what is refused again is not asked for again and again')
  t.equal(server.asked.items.length, 2)
})

t.test('oauth2: of many requests with a token that is refused none fails, however late its refusal comes', async t => {
  const server = await startTokenServer(t, [CLIENT])
  const { gateway, upstream } = await stage(t, oauth(server), { env: ENV })
  t.equal((await gateway.chat()).status, 200)
  const refusal = json({ error: { message: 'revoked' } }, { status: 401 })
  const held = withResolvers<void>()
  const holding: Script = async peer => {
    await held.promise
    await refusal(peer)
  }
  upstream.answer(holding, refusal, json(CHAT_ANSWER))
  const late = gateway.chat()
  await upstream.requests.count(2)
  t.equal((await gateway.chat()).status, 200, 'the token is renewed')
  held.resolve()
  t.equal((await late).status, 200, 'and is at hand for the one that was sent before')
  t.equal(tokenAt(upstream, 4), tokenAt(upstream, 3))
  t.equal(server.asked.items.length, 2)
})

t.test('oauth2: a token server that is away leaves what is still valid', async t => {
  const server = await startTokenServer(t, [CLIENT])
  // It would be renewed at once: it is near its end.
  server.life = 60
  const { gateway, upstream } = await stage(t, oauth(server), { env: ENV })
  t.equal((await gateway.chat()).status, 200)
  server.mood = 'refuse'
  const refusal = json({ error: { message: 'expired' } }, { status: 401 })
  upstream.answer(refusal)
  t.equal((await gateway.chat()).status, 502)
  t.match(await gateway.log.find(({ msg }) => msg === 'an upstream has no new credential'), {
    cause: /status 503 \(temporarily_unavailable\)/,
  })
  upstream.answer(json(CHAT_ANSWER))
  t.equal((await gateway.chat()).status, 200, 'the old token still serves')
})

t.test(
  'oauth2: a token server that never answers costs the time for a connection, and tells who is silent',
  async t => {
    const server = await startTokenServer(t, [CLIENT])
    server.mood = 'hang'
    const { gateway, upstream } = await stage(t, `timeouts: { connect: 500ms }\n    ${oauth(server)}`, { env: ENV })
    const answers = await Promise.all([gateway.chat(), gateway.chat()])
    for (const { status, text } of answers) {
      t.equal(status, 502)
      t.match(text, /no valid credential/)
    }
    t.equal(upstream.requests.items.length, 0)
    t.match(await gateway.log.find(({ msg }) => msg === 'an upstream has no new credential'), {
      cause: /127\.0\.0\.1:\d+ cannot be asked: no answer in time/,
    })
  },
)

t.test('jwt: tokens that the gateway signs, with its claims', async t => {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const pem = privateKey.export({ type: 'pkcs1', format: 'pem' }).toString()
  const credential = `credential:
      type: jwt
      key: { file: key.pem }
      key_id: k7
      issuer: gateway
      audience: https://models.example
      claims: { tenant: 7 }
      ttl: 2m`
  const { gateway, upstream } = await stage(t, credential, { files: { 'key.pem': pem } })
  t.equal((await gateway.chat()).status, 200)
  const { payload, protectedHeader } = await jwtVerify(tokenAt(upstream, 0) ?? '', publicKey, {
    audience: 'https://models.example',
  })
  t.match(protectedHeader, { alg: 'RS256', kid: 'k7' })
  t.match(payload, { iss: 'gateway', tenant: 7 })
  t.equal((payload.exp ?? 0) - (payload.iat ?? 0), 120)
})

t.test('exec: a command prints the token, bare or with its expiry; it may fail, and print too much', async t => {
  const script = (body: string): string =>
    `credential: { type: exec, command: [${process.execPath}, -e, ${JSON.stringify(body)}] }`
  const bare = await stage(t, script("console.log('tok-en_1')"))
  t.equal((await bare.gateway.chat()).status, 200)
  t.equal(tokenAt(bare.upstream, 0), 'tok-en_1')
  const expiry = new Date(Date.now() + 3_600_000).toISOString()
  const dated = JSON.stringify({ kind: 'ExecCredential', status: { token: 'tok2', expirationTimestamp: expiry } })
  const kube = await stage(t, script(`console.log(${JSON.stringify(dated)})`))
  t.equal((await kube.gateway.chat()).status, 200)
  t.equal(tokenAt(kube.upstream, 0), 'tok2')
  for (const [body, cause] of [
    ["console.log('secret-1'); process.exit(3)", /failed \(3\)/],
    ["console.log('secret-2'.repeat(20000))", /too much/],
    ["console.log('{}')", /JSON without a token/],
    ["console.log('two words')", /fits no header/],
  ] as const) {
    const { gateway } = await stage(t, script(body))
    t.equal((await gateway.chat()).status, 502)
    const line = await gateway.log.find(({ msg }) => msg === 'an upstream has no new credential')
    t.match(line, { cause })
    t.notMatch(JSON.stringify(gateway.log.items), /secret-[12]/, 'nothing of its output is in the log')
  }
})

t.test('a token is in no answer, also where the upstream repeats it', async t => {
  const server = await startTokenServer(t, [CLIENT])
  const { gateway, upstream } = await stage(t, oauth(server), { env: ENV })
  upstream.answer(async peer => {
    const token = /^Bearer (.+)$/.exec(upstream.requests.items.at(-1)?.header('authorization') ?? '')?.[1]
    await json({ error: { message: `bad request with ${token}` } }, { status: 400 })(peer)
  })
  const answer = await gateway.chat()
  const token = tokenAt(upstream, 0) ?? ''
  t.ok(token.length > 20)
  t.notMatch(answer.text, token)
  t.notMatch(JSON.stringify(gateway.log.items), token)
})

proveNoLeak(t)
