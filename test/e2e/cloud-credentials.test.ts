import { generateKeyPairSync } from 'node:crypto'
import { decodeJwt, jwtVerify } from 'jose'
import t, { type Test } from 'tap'
import { type AwsAccess, signed } from '../../src/credentials/aws/sign.js'
import { CHAT_ANSWER, json } from '../helpers/answers.js'
import { proveNoLeak } from '../helpers/canaries.js'
import { type Asked, provesToken, stage, startCloud, TOKEN } from '../helpers/cloud.js'
import { startConnectProxy } from '../helpers/connect-proxy.js'
import type { GatewayOptions } from '../helpers/gateway.js'
import { type RecordedRequest, startRawUpstream } from '../helpers/raw-upstream.js'

/** Where clouds keep the identity of a program: variables, files, and servers that only it can reach. */

const SIGV4 = 'type: aws-sigv4, service: bedrock, region: eu-west-1'
const SCOPE = { service: 'bedrock', region: 'eu-west-1', payload: 'signed' } as const

/** Whether the signature fits what arrived: it is made anew from the request as it was received. */
async function isSignedBy({ method, target, header, body }: RecordedRequest, access: AwsAccess): Promise<boolean> {
  const stamp = header('x-amz-date') ?? ''
  const date = new Date(stamp.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'))
  const headers = ['content-type', header('content-type') ?? '']
  const again = await signed({ method, path: target, headers, body }, header('host') ?? '', access, SCOPE, date)
  const at = again.headers.findIndex(name => name.toLowerCase() === 'authorization')
  return again.headers[at + 1] === header('authorization')
}

const KEY: AwsAccess = { id: 'AKIAEXAMPLE00000001', secret: 'the/secret+access/key' }
const SESSION: AwsAccess = { id: 'ASIAEXAMPLE00000002', secret: 'of-the-session', session: 'session-token+/=' }
const LATER = new Date(Date.now() + 3_600_000).toISOString()
const DOCUMENT = JSON.stringify({
  ...{ AccessKeyId: SESSION.id, SecretAccessKey: SESSION.secret, Token: SESSION.session, Expiration: LATER },
})
const XML = `<R><Credentials><AccessKeyId>${SESSION.id}</AccessKeyId><SecretAccessKey>${SESSION.secret}</SecretAccessKey>
<SessionToken>${SESSION.session}</SessionToken><Expiration>${LATER}</Expiration></Credentials></R>`

async function provesSignature(t: Test, credential: string, options: GatewayOptions, access: AwsAccess): Promise<void> {
  const { gateway, upstream } = await stage(t, credential, options)
  const answer = await gateway.chat()
  t.equal(answer.status, 200, answer.text)
  const [request] = (await upstream.requests.count(1)) as [RecordedRequest]
  t.match(request.target, /^\/p%20q\/model\/maker\.model-v1(%3A|:)0\/chat\?b=2&a=1$/)
  t.match(request.header('authorization'), `Credential=${access.id}/`)
  t.equal(request.header('x-amz-security-token'), access.session)
  t.ok(await isSignedBy(request, access), 'the signature fits what arrived')
}

t.test('aws-sigv4: with the key of the file, of the environment and of a profile', async t => {
  const own = `{ ${SIGV4}, access_key_id: ${KEY.id}, secret: { env: AWS_KEY } }`
  await provesSignature(t, own, { env: { AWS_KEY: KEY.secret } }, KEY)
  const variables = {
    AWS_ACCESS_KEY_ID: SESSION.id,
    AWS_SECRET_ACCESS_KEY: SESSION.secret,
    AWS_SESSION_TOKEN: SESSION.session,
  }
  await provesSignature(t, `{ ${SIGV4} }`, { env: variables }, SESSION)
  const folder = t.testdir({
    credentials: `# keys\n[default]\naws_access_key_id = wrong\n[team]\naws_access_key_id=${KEY.id}\naws_secret_access_key = ${KEY.secret}\n`,
    config: '[profile team]\nregion = eu-west-1\n',
    default: `[default]\naws_access_key_id=${KEY.id}\naws_secret_access_key=${KEY.secret}\n`,
  })
  const files = { AWS_SHARED_CREDENTIALS_FILE: `${folder}/credentials`, AWS_CONFIG_FILE: `${folder}/config` }
  await provesSignature(t, `{ ${SIGV4}, profile: team }`, { env: files }, KEY)
  // Variables that are empty are not set.
  const empty = { AWS_PROFILE: '', AWS_ROLE_ARN: '', AWS_WEB_IDENTITY_TOKEN_FILE: '' }
  const byDefault = { ...files, AWS_SHARED_CREDENTIALS_FILE: `${folder}/default` }
  await provesSignature(t, `{ ${SIGV4} }`, { env: { ...byDefault, ...empty } }, KEY)
})

t.test('aws-sigv4: with a role that is assumed by a key, or by a web identity', async t => {
  const sts = await startCloud(t, () => ({ body: XML }))
  const env = { AWS_KEY: KEY.secret, AWS_ENDPOINT_URL_STS: `${sts.origin}/` }
  const role = 'role: "arn:aws:iam::1:role/models", external_id: our-id'
  await provesSignature(
    t,
    `{ ${SIGV4}, access_key_id: ${KEY.id}, secret: { env: AWS_KEY }, ${role} }`,
    { env },
    SESSION,
  )
  const [assumed] = (await sts.asked.count(1)) as [Asked]
  const fields = Object.fromEntries(new URLSearchParams(assumed.body))
  t.match(fields, { Action: 'AssumeRole', RoleArn: 'arn:aws:iam::1:role/models', ExternalId: 'our-id' })
  t.match(assumed.headers.authorization, new RegExp(`Credential=${KEY.id}/\\d{8}/eu-west-1/sts/`))
  const files = { 'token.jwt': 'the.web.identity\n' }
  await provesSignature(t, `{ ${SIGV4}, role: "arn:r", web_identity: token.jwt }`, { env, files }, SESSION)
  const [, identity] = (await sts.asked.count(2)) as [Asked, Asked]
  t.match(Object.fromEntries(new URLSearchParams(identity.body)), {
    Action: 'AssumeRoleWithWebIdentity',
    WebIdentityToken: 'the.web.identity',
    RoleSessionName: 'model-gateway',
  })
  t.equal(identity.headers.authorization, undefined)
})

t.test('aws-sigv4: with profiles whose source profiles have roles, too', async t => {
  const sts = await startCloud(t, ({ body }) => {
    const role = new URLSearchParams(body).get('RoleArn')
    return { body: role === 'arn:last' ? XML : XML.replace(SESSION.id, `ASIA-OF-${role?.slice(4)}`) }
  })
  const keys = `aws_access_key_id = ${KEY.id}\naws_secret_access_key = ${KEY.secret}\n`
  const profile = (name: string, role: string, source: string) =>
    `[profile ${name}]\nrole_arn = arn:${role}\nsource_profile = ${source}\n`
  const long = [1, 2, 3, 4, 5].map(at => profile(`long${at}`, 'x', `long${at + 1}`)).join('')
  const folder = t.testdir({
    credentials: `[base]\n${keys}[keyed]\n${keys}`,
    config:
      profile('last', 'last', 'middle') +
      profile('middle', 'middle', 'first') +
      profile('first', 'first', 'base') +
      profile('by-key', 'last', 'keyed') +
      profile('keyed', 'unused', 'base') +
      profile('round', 'x', 'about') +
      profile('about', 'x', 'round') +
      long,
  })
  const env = {
    ...{ AWS_SHARED_CREDENTIALS_FILE: `${folder}/credentials`, AWS_CONFIG_FILE: `${folder}/config` },
    AWS_ENDPOINT_URL_STS: `${sts.origin}/`,
  }
  await provesSignature(t, `{ ${SIGV4}, profile: last }`, { env }, SESSION)
  await provesSignature(t, `{ ${SIGV4}, profile: by-key }`, { env }, SESSION)
  const assumed = sts.asked.items.map(({ headers, body }) => [
    /Credential=([^/]+)/.exec(String(headers.authorization))?.[1],
    new URLSearchParams(body).get('RoleArn'),
  ])
  t.same(assumed, [
    [KEY.id, 'arn:first'],
    ['ASIA-OF-first', 'arn:middle'],
    ['ASIA-OF-middle', 'arn:last'],
    [KEY.id, 'arn:last'],
  ])
  for (const [name, cause] of [
    ['round', 'source_profile leads in a circle: round, about, round'],
    ['long1', 'source_profile leads over more than 5 profiles'],
  ] as const) {
    const { gateway } = await stage(t, `{ ${SIGV4}, profile: ${name} }`, { env })
    t.equal((await gateway.chat()).status, 502)
    t.equal((await gateway.log.find(({ msg }) => msg === 'an upstream has no new credential')).cause, cause)
  }
  t.equal(sts.asked.items.length, 4, 'neither of them assumed a role')
})

t.test('aws-sigv4: with the key that the command of a profile prints', async t => {
  const sts = await startCloud(t, () => ({ body: XML }))
  const folder = t.testdirName
  const command = (printed: object): string =>
    `credential_process = "${process.execPath}" '${folder}/a folder/print.mjs' $HOME '${JSON.stringify(printed)}'\n`
  const printed = { Version: 1, AccessKeyId: KEY.id, SecretAccessKey: KEY.secret }
  t.testdir({
    'a folder': { 'print.mjs': `if (process.argv[2] !== '$HOME') process.exit(3)\nconsole.log(process.argv[3])\n` },
    config: `[profile own]\n${command(printed)}[profile role]\nrole_arn = arn:r\n${command(printed)}
[profile wrong]\n${command({ ...printed, Version: 2 })}[profile away]\ncredential_process = ${folder}/none\n`,
  })
  const env = {
    AWS_CONFIG_FILE: `${folder}/config`,
    AWS_SHARED_CREDENTIALS_FILE: '/nowhere',
    AWS_ENDPOINT_URL_STS: sts.origin,
  }
  const options = { env }
  await provesSignature(t, `{ ${SIGV4}, profile: own }`, options, KEY)
  await provesSignature(t, `{ ${SIGV4}, profile: role }`, options, SESSION)
  for (const [name, cause] of [
    ['wrong', /printed no access key \(Version 1\)/],
    ['away', /the command .*none failed \(ENOENT\)/],
  ] as const) {
    const { gateway } = await stage(t, `{ ${SIGV4}, profile: ${name} }`, options)
    t.equal((await gateway.chat()).status, 502)
    t.match((await gateway.log.find(({ msg }) => msg === 'an upstream has no new credential')).cause, cause)
  }
})

t.test('aws-sigv4: with the key of a container, or of a machine', async t => {
  const container = await startCloud(t, () => ({ body: DOCUMENT }))
  const files = { AWS_SHARED_CREDENTIALS_FILE: '/nowhere', AWS_CONFIG_FILE: '/nowhere' }
  const full = {
    AWS_CONTAINER_CREDENTIALS_FULL_URI: `${container.origin}/creds`,
    AWS_CONTAINER_AUTHORIZATION_TOKEN: 'pod',
  }
  await provesSignature(t, `{ ${SIGV4} }`, { env: { ...files, ...full } }, SESSION)
  t.match(container.asked.items[0], { path: '/creds', headers: { authorization: 'pod' } })
  const machine = await startCloud(t, ({ method, path }) => {
    if (method === 'PUT') return { body: 'imds-token' }
    return { body: path.endsWith('/security-credentials/') ? 'the-role\n' : DOCUMENT }
  })
  const imds = { AWS_EC2_METADATA_SERVICE_ENDPOINT: machine.origin }
  await provesSignature(t, `{ ${SIGV4} }`, { env: { ...files, ...imds } }, SESSION)
  t.same(
    machine.asked.items.map(({ method, path }) => `${method} ${path}`),
    [
      'PUT /latest/api/token',
      'GET /latest/meta-data/iam/security-credentials/',
      'GET /latest/meta-data/iam/security-credentials/the-role',
    ],
  )
  t.equal(machine.asked.items[1]?.headers['x-aws-ec2-metadata-token'], 'imds-token')
})

t.test('aws-sigv4: a key that is refused is fetched again, and a request that is denied is sent once', async t => {
  let id = SESSION.id
  const container = await startCloud(t, () => ({ body: DOCUMENT.replace(SESSION.id, id) }))
  const env = {
    ...{ AWS_SHARED_CREDENTIALS_FILE: '/nowhere', AWS_CONFIG_FILE: '/nowhere' },
    AWS_CONTAINER_CREDENTIALS_FULL_URI: `${container.origin}/creds`,
  }
  const refusal = (type: string) => json({ message: 'no' }, { status: 403, headers: { 'x-amzn-errortype': type } })
  const { gateway, upstream } = await stage(t, `{ ${SIGV4} }`, { env })
  t.equal((await gateway.chat()).status, 200)
  upstream.answer(refusal('AccessDeniedException'))
  t.equal((await gateway.chat()).status, 502)
  t.same([upstream.requests.items.length, container.asked.items.length], [2, 1])
  id = 'ASIAEXAMPLE00000003'
  upstream.answer(refusal('ExpiredTokenException:http://internal.example/'), json(CHAT_ANSWER))
  t.equal((await gateway.chat()).status, 200)
  t.match(upstream.requests.items.at(-1)?.header('authorization'), `Credential=${id}/`)
  t.equal(container.asked.items.length, 2)

  const same = await stage(t, `{ ${SIGV4} }`, { env })
  same.upstream.answer(json({ message: 'no' }, { status: 403 }))
  t.equal((await same.gateway.chat()).status, 502)
  t.same([same.upstream.requests.items.length, container.asked.items.length], [1, 4], 'there is no other key')
})

t.test('aws-sigv4: credentials are not fetched from just anywhere, and an unsigned body is not covered', async t => {
  const env = { AWS_CONTAINER_CREDENTIALS_FULL_URI: 'http://10.1.2.3/creds', AWS_SHARED_CREDENTIALS_FILE: '/nowhere' }
  const { gateway } = await stage(t, `{ ${SIGV4} }`, { env: { ...env, AWS_CONFIG_FILE: '/nowhere' } })
  t.equal((await gateway.chat()).status, 502)
  t.match(await gateway.log.find(({ msg }) => msg === 'an upstream has no new credential'), {
    cause: /10\.1\.2\.3: expected https/,
  })
  const nowhere = { AWS_SHARED_CREDENTIALS_FILE: '/nowhere', AWS_CONFIG_FILE: '/nowhere', HOME: '/nowhere' }
  const role = `${SIGV4}, role: "arn:aws:iam::1:role/r", web_identity: token.jwt`
  const elsewhere = await startRawUpstream(t)
  // It leads to this machine, and does not look so.
  const away = `http://0.0.0.0:${new URL(elsewhere.origin).port}`
  for (const [credential, name, value] of [
    [`{ ${SIGV4} }`, 'AWS_EC2_METADATA_SERVICE_ENDPOINT', away],
    [`{ ${role} }`, 'AWS_ENDPOINT_URL_STS', away],
    ['{ type: gcp }', 'GCE_METADATA_HOST', new URL(away).host],
  ] as const) {
    const options = { env: { ...nowhere, [name]: value }, files: { 'token.jwt': 'the.web.identity' } }
    const guarded = await stage(t, credential, options)
    t.equal((await guarded.gateway.chat()).status, 502, name)
    const line = await guarded.gateway.log.find(({ msg }) => msg === 'an upstream has no new credential')
    t.match(line.cause, `from ${new URL(away).host}: expected https, or an address of this machine (${name})`)
  }
  t.equal(elsewhere.requests.items.length, 0)
  const own = { AWS_ACCESS_KEY_ID: KEY.id, AWS_SECRET_ACCESS_KEY: KEY.secret }
  const unsigned = await stage(t, `{ ${SIGV4}, payload: unsigned }`, { env: own })
  t.equal((await unsigned.gateway.chat()).status, 200)
  t.equal(unsigned.upstream.requests.items[0]?.header('x-amz-content-sha256'), 'UNSIGNED-PAYLOAD')
})

const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
const PEM = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
t.test('gcp: with the key of a service account', async t => {
  const server = await startCloud(t, () => ({ body: TOKEN }))
  const account = { type: 'service_account', client_email: 'a@b.example', private_key: PEM, private_key_id: 'k1' }
  const files = { 'account.json': JSON.stringify({ ...account, token_uri: `${server.origin}/token` }) }
  await provesToken(t, '{ type: gcp, file: account.json }', { files })
  const { grant_type, assertion = '' } = Object.fromEntries(new URLSearchParams(server.asked.items[0]?.body))
  t.equal(grant_type, 'urn:ietf:params:oauth:grant-type:jwt-bearer')
  const { payload, protectedHeader } = await jwtVerify(assertion, publicKey, { audience: `${server.origin}/token` })
  t.equal(protectedHeader.kid, 'k1')
  t.match(payload, { iss: 'a@b.example', scope: 'https://www.googleapis.com/auth/cloud-platform' })
  t.equal((decodeJwt(assertion).exp ?? 0) - (payload.iat ?? 0), 3600)
})

t.test('gcp: with application default credentials: a file of a user, or the metadata server', async t => {
  const server = await startCloud(t, () => ({ body: TOKEN }))
  const user = { type: 'authorized_user', client_id: 'c', client_secret: 's', refresh_token: 'r' }
  const folder = t.testdir({ 'adc.json': JSON.stringify({ ...user, token_uri: `${server.origin}/token` }) })
  await provesToken(t, '{ type: gcp }', { env: { GOOGLE_APPLICATION_CREDENTIALS: `${folder}/adc.json` } })
  t.match(Object.fromEntries(new URLSearchParams(server.asked.items[0]?.body)), {
    grant_type: 'refresh_token',
    refresh_token: 'r',
  })
  // A variable that is empty is not set.
  const env = { GCE_METADATA_HOST: server.host, HOME: '/nowhere', GOOGLE_APPLICATION_CREDENTIALS: '' }
  await provesToken(t, '{ type: gcp, scopes: [s1, s2] }', { env })
  const path = '/computeMetadata/v1/instance/service-accounts/default/token?scopes=s1%2Cs2'
  t.match(server.asked.items[1], { method: 'GET', path, headers: { 'metadata-flavor': 'Google' } })
})

t.test('gcp: with a file of type impersonated_service_account', async t => {
  const server = await startCloud(t, ({ path, headers }) => {
    if (path === '/token') return { body: TOKEN }
    if (headers.authorization !== 'Bearer ya29.the-token') return { status: 403, body: '{}' }
    return { body: JSON.stringify({ accessToken: 'impersonated', expireTime: LATER }) }
  })
  const user = { type: 'authorized_user', client_id: 'c', client_secret: 's', refresh_token: 'r' }
  const key = { type: 'service_account', client_email: 'a@b.example', private_key: PEM }
  const file = (source: object | undefined, address = `${server.origin}/impersonate`) => ({
    'a.json': JSON.stringify({
      ...{ type: 'impersonated_service_account', service_account_impersonation_url: address, delegates: ['d1'] },
      source_credentials: source && { ...source, token_uri: `${server.origin}/token` },
    }),
  })
  const credential = '{ type: gcp, file: a.json, scopes: [s1] }'
  for (const source of [user, key]) await provesToken(t, credential, { files: file(source) }, 'impersonated')
  t.same(
    server.asked.items.map(({ path }) => path),
    ['/token', '/impersonate', '/token', '/impersonate'],
  )
  t.same(JSON.parse(server.asked.items[1]?.body ?? ''), { scope: ['s1'], delegates: ['d1'] })
  const { assertion = '' } = Object.fromEntries(new URLSearchParams(server.asked.items[2]?.body))
  t.equal(
    decodeJwt(assertion).scope,
    'https://www.googleapis.com/auth/cloud-platform',
    'the scope that may impersonate',
  )
  for (const [files, cause] of [
    [file(undefined), /has no source_credentials/],
    [file({ type: 'impersonated_service_account' }), /has no known type/],
    [file(user, 'http://10.1.2.3/'), /service_account_impersonation_url .* must be an https address/],
  ] as const) {
    const { gateway } = await stage(t, credential, { files })
    t.equal((await gateway.chat()).status, 502)
    t.match((await gateway.log.find(({ msg }) => msg === 'an upstream has no new credential')).cause, cause)
  }
})

t.test('gcp: with workload identity federation, and a service account that is impersonated', async t => {
  const server = await startCloud(t, ({ path }) => {
    if (path === '/subject') return { body: JSON.stringify({ id: 'token-of-the-other-cloud' }) }
    if (path === '/sts') return { body: JSON.stringify({ access_token: 'federated', expires_in: 3600 }) }
    return { body: JSON.stringify({ accessToken: 'impersonated', expireTime: LATER }) }
  })
  const account = {
    type: 'external_account',
    audience: '//iam.example/pools/p',
    subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
    token_url: `${server.origin}/sts`,
    service_account_impersonation_url: `${server.origin}/impersonate`,
    credential_source: { url: `${server.origin}/subject`, format: { type: 'json', subject_token_field_name: 'id' } },
  }
  await provesToken(t, '{ type: gcp, file: a.json }', { files: { 'a.json': JSON.stringify(account) } }, 'impersonated')
  t.same(
    server.asked.items.map(({ path }) => path),
    ['/subject', '/sts', '/impersonate'],
  )
  t.match(Object.fromEntries(new URLSearchParams(server.asked.items[1]?.body)), {
    audience: '//iam.example/pools/p',
    subject_token: 'token-of-the-other-cloud',
  })
  t.equal(server.asked.items[2]?.headers.authorization, 'Bearer federated')
})

t.test('gcp: what federation asks of this machine goes through no proxy, and the rest does', async t => {
  const [machine, proxy] = [
    await startCloud(t, () => ({ body: 'token-of-the-other-cloud' })),
    await startConnectProxy(t),
  ]
  const server = await startCloud(t, () => ({ body: TOKEN }))
  const account = {
    ...{ type: 'external_account', audience: '//iam.example/pools/p', subject_token_type: 'urn:jwt' },
    token_url: `${server.origin}/sts`,
    credential_source: { url: `${machine.origin}/subject` },
  }
  const credential = `{ type: gcp, file: a.json }, proxy: "${proxy.origin}"`
  await provesToken(t, credential, { files: { 'a.json': JSON.stringify(account) } })
  t.equal(machine.asked.items.length, 1)
  const asked = proxy.asked.items.map(({ authority }) => authority)
  t.ok(asked.includes(server.host))
  t.notOk(asked.includes(machine.host))
})

t.test('gcp: addresses in a file of credentials lead over TLS, or nowhere', async t => {
  const account = { type: 'service_account', client_email: 'a@b.example', private_key: PEM }
  for (const token_uri of ['http://10.0.0.1/token', 'http://tokens.example/token', 'file:///etc/passwd', 'nonsense']) {
    const files = { 'account.json': JSON.stringify({ ...account, token_uri }) }
    const { gateway } = await stage(t, '{ type: gcp, file: account.json }', { files })
    t.equal((await gateway.chat()).status, 502)
    t.match(await gateway.log.find(({ msg }) => msg === 'an upstream has no new credential'), {
      cause: /token_uri .* https/,
    })
  }
})

proveNoLeak(t)
