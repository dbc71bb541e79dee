import { generateKeyPairSync } from 'node:crypto'
import { join } from 'node:path'
import { exportJWK, SignJWT } from 'jose'
import t, { type Test } from 'tap'
import { command } from '../../cli/in-process.js'
import { CHAT_ANSWER, json } from '../../helpers/answers.js'
import { type GatewayOptions, startTestGateway, type TestGateway } from '../../helpers/gateway.js'
import { CLIENT, type Issuer, startIssuer } from '../../helpers/issuer.js'
import type { Answer } from '../../helpers/raw-client.js'
import { startRawUpstream } from '../../helpers/raw-upstream.js'

// What holds for a key holds for the holder of a token: regions, priority, budgets, the ledger. And how long a token is good.

t.setTimeout(120_000)

const KEYS = 'keys: { caller: { secret: { env: CALLER_KEY }, models: ["*"] } }'
const SIM = 'upstreams: { sim: { kind: simulator } }\nmodels: { m: { upstream: sim, as: sim-text } }'

function identityYaml({ origin }: Issuer, caller: string, more = ''): string {
  return `identity:
  providers:
    company:
      issuer: "${origin}"
      audience: gateway
      allow: [127.0.0.1]
      caller: ${caller}
      ${more}
`
}

async function stage(t: Test, rest: string, options: GatewayOptions = {}): Promise<TestGateway> {
  return await startTestGateway(t, `version: 1\n${KEYS}\n${rest}`, options)
}

async function causeOf({ log }: TestGateway, answer: Answer): Promise<string> {
  const line = await log.find(one => one.msg === 'request' && one.id === answer.header('x-request-id'))
  return String(line.cause)
}

/** Asks with a token until the answer has the status. */
async function untilStatus(gateway: TestGateway, key: string, status: number): Promise<Answer> {
  for (;;) {
    const answer = await gateway.chat({}, { key })
    if (answer.status === status) return answer
  }
}

t.test('regions of a claim', async t => {
  const issuer = await startIssuer(t)
  const [eu, us] = [await startRawUpstream(t), await startRawUpstream(t)]
  for (const one of [eu, us]) one.answer(json(CHAT_ANSWER))
  const up = (origin: string, region: string): string =>
    `{ base: "${origin}", region: ${region}, speaks: { chat: POST /v1/chat/completions } }`
  const rest = `upstreams: { eu: ${up(eu.origin, 'eu')}, us: ${up(us.origin, 'us')} }\nmodels: { m: [us, eu] }\n`
  const gateway = await stage(t, rest + identityYaml(issuer, '{ models: ["*"], regions: { claim: regions } }'))
  for (const [regions, asked] of [
    [['eu'], [1, 0]],
    [['us'], [1, 1]],
    ['eu us', [1, 2]],
  ] as const) {
    const key = await issuer.sign({ sub: String(regions), regions })
    t.equal((await gateway.chat({}, { key })).status, 200, String(regions))
    t.same([eu.requests.items.length, us.requests.items.length], asked, String(regions))
  }
  const abroad = await gateway.chat({}, { key: await issuer.sign({ sub: 'abroad', regions: ['mars'] }) })
  t.not(abroad.status, 200)
  t.same([eu.requests.items.length, us.requests.items.length], [1, 2])
})

t.test('priority of a claim: the low one is refused first while memory is short', async t => {
  // More than 1 % of the largest heap that Node takes by itself.
  const ballast = Array.from({ length: 12_000_000 }, (_, index) => index + 0.5)
  const issuer = await startIssuer(t)
  const priority = 'priority: { claim: tier, map: { batch: low, live: high }, default: normal }'
  const gateway = await stage(
    t,
    `${SIM}\noverload: { memory: 1% }\n${identityYaml(issuer, `{ models: ["*"], ${priority} }`)}`,
  )
  const [low, high] = [
    await issuer.sign({ sub: 'batch', tier: 'batch' }),
    await issuer.sign({ sub: 'live', tier: 'live' }),
  ]
  await untilStatus(gateway, low, 503)
  t.equal((await gateway.chat({}, { key: high })).status, 200)
  t.equal(ballast.length, 12_000_000)
})

t.test('a budget holds for the holder of a token, and the ledger has the name', async t => {
  const issuer = await startIssuer(t)
  const data = join(t.testdir({}), 'data')
  const limits = 'limits: { budget: 0.30 USD }'
  const rest = `store: { type: file, path: "${data}" }
prices: { sim-text: { request: 0.25 } }
${SIM}
groups: { staff: { limits: { budget: 100 USD/month } } }
${identityYaml(issuer, `{ models: ["*"], group: staff, ${limits} }`)}`
  const gateway = await stage(t, rest)
  const [ada, bob] = [await issuer.sign({ sub: 'ada' }), await issuer.sign({ sub: 'bob' })]
  t.equal((await gateway.chat({}, { key: ada })).status, 200)
  t.equal((await gateway.chat({}, { key: bob })).status, 200, 'another account')
  t.equal((await untilStatus(gateway, ada, 429)).status, 429)
  await gateway.gateway.close()
  const file = join(gateway.folder, 'gateway.yaml')
  const env = { CALLER_KEY: gateway.key }
  const { code, stdout, stderr } = await command(['spend', file, '--by', 'key', '--format', 'json'], { env })
  t.equal(code, 0, stderr)
  const { groups } = JSON.parse(stdout) as { groups: readonly { name: string; usd: string }[] }
  t.same(
    groups.map(({ name, usd }) => [name, usd]),
    [
      ['company:ada', '0.250000'],
      ['company:bob', '0.250000'],
    ],
  )
  const verified = await command(['ledger', 'verify', file], { env })
  t.match(verified, { code: 0, stdout: /all agree/ })
})

t.test('keys of other kinds sign, if the file lists their algorithm', async t => {
  const issuer = await startIssuer(t)
  const pairs = {
    ES256: generateKeyPairSync('ec', { namedCurve: 'P-256' }),
    PS256: generateKeyPairSync('rsa', { modulusLength: 2048 }),
    EdDSA: generateKeyPairSync('ed25519'),
  }
  const keys = await Promise.all(
    Object.entries(pairs).map(async ([alg, { publicKey }]) => ({ ...(await exportJWK(publicKey)), kid: alg, alg })),
  )
  issuer.instead.set('/jwks', { keys })
  for (const [alg, { privateKey }] of Object.entries(pairs)) {
    const token = new SignJWT({ iss: issuer.origin, aud: 'gateway', sub: 'ada', exp: 9e9 })
    const key = await token.setProtectedHeader({ alg, kid: alg }).sign(privateKey)
    const all = identityYaml(issuer, '{ models: ["*"] }', 'algorithms: [ES256, PS256, EdDSA]')
    const one = identityYaml(issuer, '{ models: ["*"] }', 'algorithms: [RS256]')
    t.equal((await (await stage(t, `${SIM}\n${all}`)).chat({}, { key })).status, 200, alg)
    const narrow = await stage(t, `${SIM}\n${one}`)
    const answer = await narrow.chat({}, { key })
    t.equal(answer.status, 401, alg)
    t.match(await causeOf(narrow, answer), /algorithm is not permitted/)
  }
})

t.test('a token that is sent again and again is good until its end, though it was checked a moment before', async t => {
  const issuer = await startIssuer(t)
  const gateway = await stage(t, `${SIM}\n${identityYaml(issuer, '{ models: ["*"] }', 'clock_skew: 1ms')}`)
  const key = await issuer.sign({ exp: Math.floor(Date.now() / 1000) + 2 })
  t.equal((await gateway.chat({}, { key })).status, 200)
  t.match(await causeOf(gateway, await untilStatus(gateway, key, 401)), /expired/)
})

t.test('a token that stands for a key is good until the end of the key, though it was checked before', async t => {
  const issuer = await startIssuer(t)
  const expires = new Date(Date.now() + 8000).toISOString()
  const keys = `keys: { caller: { secret: { env: CALLER_KEY }, models: ["*"], expires: "${expires}" } }`
  const identity = identityYaml(issuer, '{ key: { claim: plan, map: { gold: caller } } }')
  const gateway = await startTestGateway(t, `version: 1\n${keys}\n${SIM}\n${identity}`)
  const token = await issuer.sign({ plan: 'gold' })
  t.equal((await gateway.chat({}, { key: token })).status, 200)
  await untilStatus(gateway, gateway.key, 401)
  const late = await gateway.chat({}, { key: token })
  t.equal(late.status, 401)
  t.match(await causeOf(gateway, late), /the key that it stands for is expired/)
})

t.test('a token that is not a JWT: revoked, for others, of another issuer, too late, and its issuer away', async t => {
  const issuer = await startIssuer(t)
  const login = `client_id: ${CLIENT.id}, client_secret: { env: CLIENT_SECRET }, cache: 1ms`
  const yaml = identityYaml(issuer, '{ name: client_id, models: ["*"] }', `introspection: { ${login} }`)
  const gateway = await stage(t, `${SIM}\n${yaml}`, { env: { CLIENT_SECRET: CLIENT.secret } })
  const key = await issuer.token('opaque')
  t.equal((await gateway.chat({}, { key })).status, 200)
  const revoked = await fetch(`${issuer.origin}/token/revocation`, {
    method: 'POST',
    headers: { authorization: `Basic ${btoa(`${CLIENT.id}:${CLIENT.secret}`)}` },
    body: new URLSearchParams({ token: key }),
  })
  t.equal(revoked.status, 200)
  t.match(await causeOf(gateway, await untilStatus(gateway, key, 401)), /not active/)
  const good = { active: true, iss: issuer.origin, aud: 'gateway', client_id: 'ada', exp: 9e9 }
  const now = Math.floor(Date.now() / 1000)
  for (const [claims, status, cause] of [
    [good, 200, /undefined/],
    [{ ...good, exp: undefined }, 200, /undefined/],
    [{ ...good, aud: ['another'] }, 401, /aud does not fit/],
    [{ ...good, aud: undefined }, 401, /aud does not fit/],
    [{ ...good, iss: 'https://other.example.com' }, 401, /iss does not fit/],
    [{ ...good, exp: now - 90 }, 401, /expired/],
    [{ ...good, nbf: now + 90 }, 401, /nbf does not fit/],
    [{ ...good, active: 'true' }, 401, /not active/],
    [[], 503, /not a JSON object/],
  ] as const) {
    issuer.instead.set('/token/introspection', claims)
    const answer = await gateway.chat({}, { key: `another-text-of-someone-${Math.random()}` })
    t.equal(answer.status, status, JSON.stringify(claims))
    t.match(await causeOf(gateway, answer), cause)
  }
  issuer.away = true
  const away = await gateway.chat({}, { key: 'a-text-that-no-one-has-asked-about' })
  t.equal(away.status, 503)
  t.ok(away.header('retry-after'))
  t.equal((await gateway.chat()).status, 200, 'keys need no issuer')
})
