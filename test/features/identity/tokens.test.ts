import { createHmac } from 'node:crypto'
import { exportSPKI, generateKeyPair, importJWK, SignJWT } from 'jose'
import t from 'tap'
import { startTestGateway, type TestGateway } from '../../helpers/gateway.js'
import { CLIENT, type Issuer, startIssuer } from '../../helpers/issuer.js'
import { type Answer, request } from '../../helpers/raw-client.js'

type Test = Pick<typeof t, 'teardown' | 'equal' | 'match' | 'notMatch'>

const SKEWED = 30
const LATE = 90

function yamlOf(issuer: string, caller: string, more = ''): string {
  return `version: 1
keys: { caller: { secret: { env: CALLER_KEY } } }
upstreams: { sim: { kind: simulator } }
models: { m: { upstream: sim, as: sim-text }, other: { upstream: sim, as: sim-text } }
groups: { research: { limits: { requests: 1000/min } }, staff: {} }
identity:
  providers:
    company:
      issuer: "${issuer}"
      audience: gateway
      allow: [127.0.0.1]
      ${more}
      caller: ${caller}
`
}

const ALL = '{ group: staff }'

async function setUp(t: Test, caller = ALL, more = ''): Promise<{ issuer: Issuer; gateway: TestGateway }> {
  const issuer = await startIssuer(t, { team: ['guests', 'ml'], plan: 'gold', models: 'm' })
  return { issuer, gateway: await startTestGateway(t, yamlOf(issuer.origin, caller, more)) }
}

async function lineOf({ log }: TestGateway, answer: Answer): Promise<Readonly<Record<string, unknown>>> {
  return await log.find(line => line.msg === 'request' && line.id === answer.header('x-request-id'))
}

/** The token is refused as a wrong key is, and the log says why. */
async function refused(t: Test, gateway: TestGateway, token: string, cause: RegExp): Promise<void> {
  const answer = await gateway.chat({}, { key: token })
  t.equal(answer.status, 401)
  const { error } = answer.json() as { error: { code: string; message: string } }
  t.equal(error.code, 'invalid_api_key')
  const line = await lineOf(gateway, answer)
  t.match(line.cause, cause)
  t.equal(line.key, undefined)
  t.notMatch(JSON.stringify(gateway.log), token.slice(-20), 'no token in the log')
}

t.test('a token of a real server is taken, and its holder is in the log', async t => {
  const { issuer, gateway } = await setUp(t)
  const answer = await gateway.chat({}, { key: await issuer.token() })
  t.equal(answer.status, 200)
  t.equal((await lineOf(gateway, answer)).key, `company:${CLIENT.id}`)
  t.equal((await gateway.chat()).status, 200, 'keys work beside it')
})

t.test('all who wait share one fetch of keys', async t => {
  const { issuer, gateway } = await setUp(t)
  const tokens = await Promise.all(['a', 'b', 'c', 'd', 'e'].map(sub => issuer.sign({ sub })))
  const answers = await Promise.all(tokens.map(key => gateway.chat({}, { key })))
  t.same(
    answers.map(({ status }) => status),
    [200, 200, 200, 200, 200],
  )
  t.same(issuer.asked, ['/.well-known/openid-configuration', '/jwks'])
})

t.test('claims say what the caller may do', async t => {
  const group = 'group: { claim: team, map: { ml: research, sales: staff } }'
  const limits = 'limits: { claim: plan, map: { gold: { requests: 2/day } }, default: { requests: 1/day } }'
  const { issuer, gateway } = await setUp(t, `{ models: { claim: models }, ${group}, ${limits} }`)
  const key = await issuer.sign()
  t.equal((await gateway.chat({ model: 'other' }, { key })).status, 404, 'models')
  t.equal((await gateway.chat({}, { key })).status, 200)
  const other = await issuer.sign({ jti: 'another token of the same caller' })
  t.equal((await gateway.chat({}, { key: other })).status, 429, 'a limit of the caller, not of the token')
  t.equal((await gateway.chat({}, { key: await issuer.sign({ sub: 'bob', plan: 'free' }) })).status, 200)
  await refused(t, gateway, await issuer.sign({ team: ['unknown'] }), /the claim team gives no group/)
})

t.test('the first entry of a map counts as the file has them, also where their names are numbers', async t => {
  const limit = (requests: number): string => `{ requests: ${requests}/day }`
  const map = `{ "2000": ${limit(1)}, ml: ${limit(2)}, "1000": ${limit(3)} }`
  const { issuer, gateway } = await setUp(t, `{ limits: { claim: team, map: ${map} } }`)
  const key = await issuer.sign({ team: ['ml', 2000, '1000'] })
  t.equal((await gateway.chat({}, { key })).status, 200)
  t.equal((await gateway.chat({}, { key })).status, 429)
  const other = await issuer.sign({ sub: 'bob', team: ['1000', 'ml'] })
  const statuses = [await gateway.chat({}, { key: other }), await gateway.chat({}, { key: other })]
  t.equal((await gateway.chat({}, { key: other })).status, 429)
  t.same(
    statuses.map(({ status }) => status),
    [200, 200],
  )
})

t.test('claims lead to a key of the file', async t => {
  const { issuer, gateway } = await setUp(t, '{ key: { claim: plan, map: { gold: caller } } }')
  const answer = await gateway.chat({}, { key: await issuer.sign() })
  t.equal(answer.status, 200)
  t.equal((await lineOf(gateway, answer)).key, 'caller')
  await refused(t, gateway, await issuer.sign({ plan: 'free' }), /gives no key/)
})

t.test('new keys are fetched when a token needs them, and old keys no longer count', async t => {
  const { issuer, gateway } = await setUp(t)
  const old = await issuer.sign()
  t.equal((await gateway.chat({}, { key: old })).status, 200)
  await issuer.rotate()
  t.equal((await gateway.chat({}, { key: await issuer.sign() })).status, 200)
  await refused(t, gateway, old, /no such key/)
})

t.test('tokens with made-up keys cost the issuer a few fetches', async t => {
  const { issuer, gateway } = await setUp(t)
  for (let at = 0; at < 20; at++) {
    await refused(t, gateway, await issuer.sign({}, { kid: `made-up-${at}` }), /no such key/)
  }
  t.ok(issuer.asked.filter(path => path === '/jwks').length <= 5)
})

t.test('known keys count while the issuer is away', async t => {
  const { issuer, gateway } = await setUp(t)
  issuer.away = true
  const early = await gateway.chat({}, { key: await issuer.sign() })
  t.equal(early.status, 503)
  t.ok(early.header('retry-after'))
  issuer.away = false
  t.equal((await gateway.chat({}, { key: await issuer.sign() })).status, 200)
  issuer.away = true
  t.equal((await gateway.chat({}, { key: await issuer.sign({ sub: 'bob' }) })).status, 200)
})

t.test('tokens of others, for others, too late and too early are refused', async t => {
  const { issuer, gateway } = await setUp(t)
  const now = Math.floor(Date.now() / 1000)
  t.equal((await gateway.chat({}, { key: await issuer.sign({ exp: now - SKEWED }) })).status, 200, 'within the skew')
  await refused(t, gateway, await issuer.sign({ exp: now - LATE }), /expired/)
  await refused(t, gateway, await issuer.sign({ nbf: now + LATE }), /nbf does not fit/)
  await refused(t, gateway, await issuer.sign({ aud: 'another' }), /aud does not fit/)
  await refused(t, gateway, await issuer.sign({ iss: 'https://example.com' }), /issuer is not declared/)
  await refused(t, gateway, await issuer.sign({ exp: undefined as never }), /exp does not fit/)
  await refused(t, gateway, await issuer.sign({ sub: '' }), /sub is not a name/)
})

t.test('tokens without a signature are refused', async t => {
  const { issuer, gateway } = await setUp(t)
  const good = await issuer.sign()
  const [, claims = '', signature = ''] = good.split('.')
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
  await refused(t, gateway, `${part({ alg: 'none' })}.${claims}.`, /algorithm is not permitted/)
  await refused(t, gateway, `${part({ alg: 'none' })}.${claims}.${signature}`, /algorithm is not permitted/)
  const pem = await exportSPKI((await importJWK(await issuer.publicKey(), 'RS256')) as Parameters<typeof exportSPKI>[0])
  const confused = `${part({ alg: 'HS256', kid: 'key-1' })}.${claims}`
  const mac = createHmac('sha256', pem).update(confused).digest('base64url')
  await refused(t, gateway, `${confused}.${mac}`, /algorithm is not permitted/)
  await refused(t, gateway, `${good.slice(0, -20)}${'A'.repeat(20)}`, /signature is wrong/)
  const { privateKey } = await generateKeyPair('RS256')
  const header = JSON.parse(Buffer.from(good.split('.')[0] ?? '', 'base64url').toString()) as { kid: string }
  const forged = new SignJWT({ iss: issuer.origin, aud: 'gateway', sub: 'ada', exp: 9e9 })
  const forgery = await forged.setProtectedHeader({ alg: 'RS256', kid: header.kid }).sign(privateKey)
  await refused(t, gateway, forgery, /signature is wrong/)
})

t.test('a token that is not a JWT is asked about once', async t => {
  const secret = '{ env: CLIENT_SECRET }'
  const more = `introspection: { client_id: ${CLIENT.id}, client_secret: ${secret} }`
  const issuer = await startIssuer(t)
  const env = { CLIENT_SECRET: CLIENT.secret }
  const gateway = await startTestGateway(t, yamlOf(issuer.origin, '{ name: client_id }', more), { env })
  const key = await issuer.token('opaque')
  const answers = await Promise.all([1, 2, 3].map(() => gateway.chat({}, { key })))
  t.same(
    answers.map(({ status }) => status),
    [200, 200, 200],
  )
  t.equal((await gateway.chat({}, { key })).status, 200)
  t.equal(issuer.asked.filter(path => path === '/token/introspection').length, 1)
  t.equal((await gateway.chat()).status, 200, 'keys come first')
  for (let at = 0; at < 3; at++) await refused(t, gateway, 'no-token-of-anyone-that-is-known', /not active/)
  t.equal(issuer.asked.filter(path => path === '/token/introspection').length, 2, 'nor again about one it refused')
})

t.test('texts that no one knows cost an issuer that is away a few questions', async t => {
  const issuer = await startIssuer(t)
  issuer.away = true
  const more = `introspection: { client_id: ${CLIENT.id}, client_secret: { env: CLIENT_SECRET } }`
  const env = { CLIENT_SECRET: CLIENT.secret }
  const gateway = await startTestGateway(t, yamlOf(issuer.origin, '{ name: client_id }', more), { env })
  for (let at = 0; at < 4; at++) {
    const texts = [1, 2, 3, 4, 5].map(nth => `text-${at}-${nth}-that-no-one-knows`)
    const answers = await Promise.all(texts.map(key => gateway.chat({}, { key })))
    t.same(new Set(answers.map(({ status }) => status)), new Set([503]))
  }
  t.ok(issuer.asked.length > 0)
  t.ok(issuer.asked.length <= 5, `${issuer.asked.length} questions`)
})

t.test('keys at an internal address are not fetched for any issuer that names it', async t => {
  const { issuer, gateway } = await setUp(t)
  const { origin } = issuer
  for (const address of ['http://10.0.0.1/jwks', 'http://169.254.169.254/jwks', 'http://[::1]/jwks', 'file:///jwks']) {
    issuer.instead.set('/.well-known/openid-configuration', { issuer: origin, jwks_uri: address })
    const answer = await gateway.chat({}, { key: await issuer.sign() })
    t.equal(answer.status, 503, address)
    t.match((await lineOf(gateway, answer)).cause, /blocked/)
  }
  issuer.instead.set('/.well-known/openid-configuration', { issuer: 'http://other', jwks_uri: `${origin}/jwks` })
  const answer = await gateway.chat({}, { key: await issuer.sign() })
  t.match((await lineOf(gateway, answer)).cause, /names another issuer/)
})

t.test('an internal issuer is not asked unless it is allowed', async t => {
  const issuer = await startIssuer(t)
  const yaml = yamlOf(issuer.origin, ALL).replace('allow: [127.0.0.1]', '')
  const gateway = await startTestGateway(t, yaml)
  const answer = await gateway.chat({}, { key: await issuer.sign() })
  t.equal(answer.status, 503)
  t.match((await lineOf(gateway, answer)).cause, /blocked/)
  t.same(issuer.asked, ['/token'].slice(1), 'nothing was asked')
})

t.test('a token is refused by name where no provider is declared, and in a place that takes none', async t => {
  const issuer = await startIssuer(t)
  const places = '[{ in: header, name: authorization, scheme: Bearer }, { in: query, name: key }]'
  const routes = `routes: { GET /v1/models: { answer: models, caller: ${places} } }`
  const gateway = await startTestGateway(t, `${yamlOf(issuer.origin, ALL)}${routes}\n`)
  const token = await issuer.sign()
  const inQuery = await gateway.request(`/v1/models?key=${token}`, { key: undefined as never })
  t.equal(inQuery.status, 401)
  t.match((await lineOf(gateway, inQuery)).cause, /company does not accept tokens in the query \(accept_in\)/)
  const [before] = yamlOf(issuer.origin, ALL).split('identity:')
  const without = await startTestGateway(t, before ?? '')
  await refused(t, without, token, /a token \(JWT\), and no identity provider is declared/)
})

t.test('a reload keeps the keys of an issuer', async t => {
  const { issuer, gateway } = await setUp(t)
  const key = await issuer.sign()
  t.equal((await gateway.chat({}, { key })).status, 200)
  issuer.away = true
  await gateway.write('gateway.yaml', yamlOf(issuer.origin, '{ models: [other] }'))
  await gateway.gateway.reload()
  t.equal((await gateway.chat({}, { key })).status, 404, 'the new terms hold')
  t.equal((await gateway.chat({ model: 'other' }, { key })).status, 200)
})

t.test(
  'a token is taken in the places that accept_in names, of those in which the route takes keys, and in no other',
  async t => {
    const issuer = await startIssuer(t)
    const token = await issuer.sign()
    const places = [
      '{ in: header, name: authorization, scheme: Bearer }',
      '{ in: header, name: x-api-key }',
      '{ in: query, name: key }',
      '{ in: subprotocol, prefix: token. }',
    ]
    const routes = `routes: { GET /v1/models: { answer: models, caller: [${places.join(', ')}] }, GET /v1/usage: { answer: usage } }`
    const requests: readonly (readonly [Place: string, path: string, headers: Record<string, string>])[] = [
      ['header', '/v1/models', { authorization: `Bearer ${token}` }],
      ['header', '/v1/models', { 'x-api-key': token }],
      ['query', `/v1/models?key=${token}`, {}],
      ['subprotocol', '/v1/models', { 'sec-websocket-protocol': `realtime, token.${token}` }],
    ]
    for (const accepted of [['header'], ['query'], ['subprotocol'], ['header', 'query', 'subprotocol']]) {
      const gateway = await startTestGateway(
        t,
        `${yamlOf(issuer.origin, ALL, `accept_in: [${accepted.join(', ')}]`)}${routes}\n`,
      )
      // A token that was checked a moment ago, in a place that is accepted, is not taken elsewhere.
      for (const [place, path, headers] of [...requests, ...requests]) {
        const answer = await request(t, gateway.origin, path, { headers })
        t.equal(answer.status, accepted.includes(place) ? 200 : 401, `${place} of ${accepted.join(' and ')}`)
        if (answer.status === 401) t.match((await lineOf(gateway, answer)).cause, /does not accept tokens in the/)
      }
      const elsewhere = await request(t, gateway.origin, '/v1/usage', { headers: { 'x-other': token } })
      t.equal(elsewhere.status, 401, 'a header that takes no keys')
      const misplaced = await request(t, gateway.origin, `/v1/usage?key=${token}`)
      t.equal(misplaced.status, 401)
      t.match(misplaced.text, /in the query parameter key, where it is not taken/)
    }
  },
)
