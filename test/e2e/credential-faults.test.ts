import { generateKeyPairSync } from 'node:crypto'
import { exportJWK, jwtVerify } from 'jose'
import t, { type Test } from 'tap'
import { CHAT_ANSWER, json } from '../helpers/answers.js'
import { proveNoLeak } from '../helpers/canaries.js'
import { CALLER, type GatewayOptions, startTestGateway, type TestGateway } from '../helpers/gateway.js'
import { type RawUpstream, startRawUpstream } from '../helpers/raw-upstream.js'
import { CLIENT, startTokenServer } from '../helpers/token-server.js'

/** Credentials that cannot be had, where that is said; and what proves who asks for them. */

async function stage(
  t: Test,
  credential: string,
  options: GatewayOptions = {},
): Promise<{ gateway: TestGateway; upstream: RawUpstream }> {
  const upstream = await startRawUpstream(t)
  upstream.answer(json(CHAT_ANSWER))
  const up = `{ base: "${upstream.origin}", speaks: { chat: POST /v1/chat/completions }, credential: ${credential} }`
  const yaml = `version: 1\n${CALLER}\nupstreams: { up: ${up} }\nmodels: { m: up }\n`
  return { upstream, gateway: await startTestGateway(t, yaml, options) }
}

/** Of each type one that cannot be had, and what is said of it. */
const BROKEN: readonly (readonly [credential: string, options: GatewayOptions, cause: RegExp])[] = [
  [
    '{ type: oauth2, token_url: "http://127.0.0.1:9/token", client_id: a, secret: { env: SECRET } }',
    { env: { SECRET: 'the-secret-of-the-gateway' } },
    /127\.0\.0\.1:9 cannot be asked: ECONNREFUSED/,
  ],
  ['{ type: gcp, file: none.json }', {}, /none\.json cannot be read as JSON/],
  [
    '{ type: aws-sigv4, service: bedrock, region: eu-west-1, profile: team }',
    { env: { AWS_SHARED_CREDENTIALS_FILE: '/nowhere', AWS_CONFIG_FILE: '/nowhere' } },
    /the profile team has no access key/,
  ],
  ['{ type: exec, command: [/nowhere/print-token] }', {}, /the command \/nowhere\/print-token failed \(ENOENT\)/],
  [
    '{ type: jwt, key: { file: key.pem }, algorithm: RS256 }',
    {
      files: {
        'key.pem': generateKeyPairSync('ec', { namedCurve: 'P-256' })
          .privateKey.export({ type: 'pkcs8', format: 'pem' })
          .toString(),
      },
    },
    /the private key cannot sign with RS256/,
  ],
]

for (const [credential, options, cause] of BROKEN) {
  t.test(`a fault is said at the start, by readyz and for each request: ${credential}`, async t => {
    const { gateway, upstream } = await stage(t, credential, options)
    const said = await gateway.log.find(({ msg }) => msg === 'an upstream has no new credential')
    t.match(said, { upstream: 'up', cause }, 'before any request')
    const ready = await gateway.request('/readyz?verbose')
    t.match(ready.json(), { credentials: { up: cause } })
    const answer = await gateway.chat()
    t.equal(answer.status, 502)
    t.notMatch(answer.text, cause, 'clients do not learn why')
    const line = await gateway.log.find(({ msg }) => msg === 'request')
    t.match(line, { attempts: [{ upstream: 'up', phase: 'credential' }] })
    t.match(JSON.stringify(line), cause)
    t.equal(upstream.requests.items.length, 0)
  })
}

t.test('an assertion is used once: another token takes another one', async t => {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const { client_secret: _, ...rest } = CLIENT
  const server = await startTokenServer(t, [
    {
      ...rest,
      ...{ token_endpoint_auth_method: 'private_key_jwt', token_endpoint_auth_signing_alg: 'ES256' },
      jwks: { keys: [{ ...(await exportJWK(publicKey)), alg: 'ES256', use: 'sig', kid: 'k1' }] },
    },
  ])
  const key = 'key: { file: key.pem }, algorithm: ES256, key_id: k1'
  const { gateway, upstream } = await stage(
    t,
    `{ type: oauth2, token_url: "${server.tokenUrl}", client_id: gateway, scope: models, ${key} }`,
    { files: { 'key.pem': privateKey.export({ type: 'pkcs8', format: 'pem' }).toString() } },
  )
  t.equal((await gateway.chat()).status, 200)
  upstream.answer(json({ error: { message: 'expired' } }, { status: 401 }), json(CHAT_ANSWER))
  t.equal((await gateway.chat()).status, 200, 'the server takes no assertion twice')
  t.same(
    server.asked.items.map(({ status }) => status),
    [200, 200],
  )
})

t.test('jwt: tokens that the gateway signs with a shared secret, and with keys of other kinds', async t => {
  const secret = 'a-shared-secret-of-32-characters'
  const pairs = {
    ES256: generateKeyPairSync('ec', { namedCurve: 'P-256' }),
    RS256: generateKeyPairSync('rsa', { modulusLength: 2048 }),
  }
  for (const algorithm of ['HS256', 'ES256', 'RS256'] as const) {
    const pair = algorithm === 'HS256' ? undefined : pairs[algorithm]
    const pem = pair?.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString() ?? ''
    const key = pair === undefined ? '{ env: SIGNING_KEY }' : '{ file: key.pem }'
    const credential = `{ type: jwt, key: ${key}, algorithm: ${algorithm}, issuer: gateway, audience: models }`
    const { gateway, upstream } = await stage(t, credential, {
      env: { SIGNING_KEY: secret },
      files: { 'key.pem': pem },
    })
    t.equal((await gateway.chat()).status, 200, algorithm)
    const token = upstream.requests.items[0]?.header('authorization')?.replace('Bearer ', '') ?? ''
    const verified = await jwtVerify(token, pair?.publicKey ?? Buffer.from(secret), {
      ...{ issuer: 'gateway', audience: 'models', algorithms: [algorithm] },
    })
    t.equal(verified.protectedHeader.alg, algorithm)
  }
})

proveNoLeak(t)
