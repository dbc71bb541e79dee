import { generateKeyPairSync } from 'node:crypto'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { TABLE } from '../../src/admin/routes/index.js'
import { requestFacts } from '../../src/plan/explain.js'
import { command } from '../cli/in-process.js'
import { ADMIN_SECRET, adminLine, adminOf } from '../helpers/admin.js'
import { CHAT_ANSWER } from '../helpers/answers.js'
import { canary, proveNoLeak } from '../helpers/canaries.js'
import { CALLER, startTestGateway } from '../helpers/gateway.js'
import { Journal } from '../helpers/journal.js'
import { listening } from '../helpers/listening.js'
import { startOtlpReceiver } from '../helpers/otlp-receiver.js'

// Every type of credential at one gateway, with an upstream that repeats all that it gets, and servers of tokens that do so too:
// neither a secret nor a token is anywhere that people or machines read.

const SECRETS = {
  HEADER: canary('upstream'),
  QUERY: canary('upstream'),
  PASSWORD: canary('upstream'),
  PART: canary('upstream'),
  CLIENT_SECRET: canary('upstream'),
  REFUSED_SECRET: canary('upstream'),
  SIGNING_KEY: canary('upstream'),
  AWS_SECRET_ACCESS_KEY: canary('upstream'),
  AWS_SESSION_TOKEN: canary('upstream'),
  VAULT_TOKEN: canary('upstream'),
  AWS_MANAGER_KEY: canary('upstream'),
  SUBJECT: canary('upstream'),
  MODULE_SECRET: canary('upstream'),
} as const
/** A private key has many lines: each is looked for. */
const PEM = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ type: 'pkcs8', format: 'pem' })
const PEM_LINES = String(PEM)
  .split('\n')
  .filter(line => line.length > 40 && !line.startsWith('---'))
/** Tokens of servers. */
const [OAUTH, GCP, EXEC] = [canary('upstream'), canary('upstream'), canary('upstream')]
const MODULE = canary('upstream')
const MADE = `export const openCredential = (_, { secret, warn }) => ({
  get() {
    warn('with ' + secret)
    return { token: '${MODULE}', expires: new Date(Date.now() + 3600_000) }
  },
})`
/** What the other cloud says of this machine, and what that is changed for. */
const FEDERATION = { subject: canary('upstream'), federated: canary('upstream'), impersonated: canary('upstream') }
/** The session of a role that is assumed. */
const ASSUMED = { secret: canary('upstream'), session: canary('upstream') }
/** What each secret manager keeps, and another one beside it that no upstream is given. */
const KEPT = { vault: canary('upstream'), aws: canary('upstream'), gcp: canary('upstream'), beside: canary('upstream') }

const KINDS = [
  'header',
  'query',
  'basic',
  'headers',
  'oauth2',
  'refused',
  'jwt',
  'pem',
  'key_jwt',
  'exchange',
  'gcp',
  'impersonated',
  'assumed',
  'module',
  'exec',
  'aws',
  'vault',
  'aws_secret',
  'gcp_secret',
] as const

/** Secrets that managers do not give: they refuse, and repeat all that they were sent, with secrets of others. */
const KEPT_BACK = {
  vault_refused: '{ vault: secret/data/refused, field: key }',
  aws_refused: '{ aws_secret: prod/refused, field: key }',
  gcp_refused: '{ gcp_secret: projects/p/secrets/refused }',
  vault_field: '{ vault: secret/data/up, field: none }',
  aws_field: '{ aws_secret: prod/up, field: none }',
} as const

interface Asked {
  readonly target: string
  readonly headers: IncomingMessage['headers']
}

type Send = (status: number, answer: unknown) => void

/** Answers as the secret managers do: with what they keep, or with a refusal that repeats the request. */
function manage({ url = '', headers }: IncomingMessage, body: string, send: Send): boolean {
  const repeated = `${url} ${JSON.stringify(headers)} ${body} ${Object.values(KEPT).join(' ')}`
  const isRefused = `${url} ${body}`.includes('refused')
  const fields = { beside: KEPT.beside }
  if (url.startsWith('/v1/secret/')) {
    if (isRefused) send(403, { errors: [repeated] })
    else send(200, { data: { data: { key: KEPT.vault, ...fields }, metadata: { version: 1 } } })
  } else if (headers['x-amz-target'] === 'secretsmanager.GetSecretValue') {
    if (isRefused) send(400, { __type: 'AccessDeniedException', Message: repeated })
    else send(200, { Name: 'prod/up', SecretString: JSON.stringify({ key: KEPT.aws, ...fields }) })
  } else if (url.startsWith('/v1/projects/')) {
    if (isRefused) send(403, { error: { code: 403, message: repeated, status: 'PERMISSION_DENIED' } })
    else send(200, { name: 'projects/p/secrets/up', payload: { data: Buffer.from(KEPT.gcp).toString('base64') } })
  } else return false
  return true
}

const LATER = new Date(Date.now() + 3_600_000).toISOString()

/** Answers as the services do that give a session or a token for another. */
function exchange(url: string, send: Send): boolean {
  if (url === '/subject') send(200, { id: FEDERATION.subject })
  else if (url === '/federated')
    send(200, { access_token: FEDERATION.federated, token_type: 'Bearer', expires_in: 3600 })
  else if (url === '/impersonate') send(200, { accessToken: FEDERATION.impersonated, expireTime: LATER })
  else if (url === '/assume')
    send(200, {
      ...{ AccessKeyId: 'ASIAEXAMPLE', SecretAccessKey: ASSUMED.secret },
      ...{ SessionToken: ASSUMED.session, Expiration: LATER },
    })
  else return false
  return true
}

/** Upstream, token server, metadata server and secret managers. */
async function startWorld(t: Test): Promise<{ origin: string; host: string; asked: Journal<Asked> }> {
  const asked = new Journal<Asked>('requests to upstreams')
  const server = createServer((request, response) => {
    const { url: target = '', headers } = request
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString()
      const send: Send = (status, answer) => {
        response.writeHead(status, { 'content-type': 'application/json', 'metadata-flavor': 'Google' })
        response.end(JSON.stringify(answer))
      }
      if (target === '/token') send(200, { access_token: OAUTH, token_type: 'Bearer', expires_in: 3600 })
      else if (target === '/refusing')
        send(401, { error: 'invalid_client', error_description: body + JSON.stringify(headers) })
      else if (target.startsWith('/computeMetadata/'))
        send(200, { access_token: GCP, token_type: 'Bearer', expires_in: 3600 })
      else if (!exchange(target, send) && !manage(request, body, send)) {
        asked.push({ target, headers })
        if (body.includes('repeat')) {
          const message = `${target} ${JSON.stringify(headers)} ${decoded(headers.authorization)}`
          send(400, { error: { message, type: 'invalid_request_error', code: null, param: null } })
        } else send(200, CHAT_ANSWER)
      }
    })
  })
  const port = await listening(t, server)
  return { origin: `http://127.0.0.1:${port}`, host: `127.0.0.1:${port}`, asked }
}

/** A user and a password, as an upstream may repeat them. */
function decoded(authorization = ''): string {
  const [scheme, value = ''] = authorization.split(' ')
  return scheme === 'Basic' ? Buffer.from(value, 'base64').toString() : ''
}

async function filesBelow(folder: string): Promise<readonly Buffer[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  return Promise.all(entries.filter(one => one.isFile()).map(one => readFile(join(one.parentPath, one.name))))
}

t.test('F-D2 no secret and no token of any type of credential is anywhere that is read', async t => {
  const world = await startWorld(t)
  const collector = await startOtlpReceiver(t)
  const admin = await adminLine(', metrics: open')
  const own = await mkdtemp(join(tmpdir(), 'credential-'))
  t.teardown(() => rm(own, { recursive: true }))
  await writeFile(join(own, 'token'), EXEC)
  const federation = {
    ...{ type: 'external_account', audience: '//iam.example/pools/p', subject_token_type: 'jwt' },
    ...{ token_url: `${world.origin}/federated`, service_account_impersonation_url: `${world.origin}/impersonate` },
    credential_source: {
      url: `${world.origin}/subject`,
      format: { type: 'json', subject_token_field_name: 'id' },
    },
  }
  await writeFile(join(own, 'federation.json'), JSON.stringify(federation))
  const credentials: Readonly<Record<(typeof KINDS)[number], string>> = {
    header: 'credential: { type: header, name: x-key, secret: { env: HEADER } }',
    query: 'credential: { type: query, name: key, secret: { env: QUERY } }',
    basic: 'credential: { type: basic, user: team, secret: { env: PASSWORD } }',
    headers: 'credential: { type: headers, headers: { X-App: shop, X-Part: { env: PART } } }',
    oauth2: `credential: { type: oauth2, token_url: "${world.origin}/token", client_id: me, secret: { env: CLIENT_SECRET } }`,
    refused: `credential: { type: oauth2, token_url: "${world.origin}/refusing", client_id: me, auth: body, secret: { env: REFUSED_SECRET }, params: { subject_token: { env: SUBJECT } } }`,
    jwt: 'credential: { type: jwt, key: { env: SIGNING_KEY }, algorithm: HS256, issuer: me }',
    pem: 'credential: { type: jwt, key: { env: PEM_KEY }, issuer: me }',
    key_jwt: `credential: { type: oauth2, token_url: "${world.origin}/token", client_id: me, auth: private_key_jwt, key: { env: PEM_KEY } }`,
    exchange: `credential: { type: oauth2, token_url: "${world.origin}/token", client_id: me, params: { subject_token: { env: SUBJECT } } }`,
    gcp: 'credential: { type: gcp }',
    impersonated: `credential: { type: gcp, file: "${join(own, 'federation.json')}" }`,
    assumed: 'credential: { type: aws-sigv4, service: bedrock, region: eu-west-1, role: "arn:aws:iam::1:role/models" }',
    module: 'credential: { type: ./mine.mjs, secret: { env: MODULE_SECRET } }',
    exec: `credential: { type: exec, command: [cat, "${join(own, 'token')}"] }`,
    aws: 'credential: { type: aws-sigv4, service: bedrock, region: eu-west-1 }',
    vault:
      'credential: { in: header, name: authorization, scheme: Bearer, secret: { vault: secret/data/up, field: key } }',
    aws_secret: 'credential: { type: header, name: x-key, secret: { aws_secret: prod/up, field: key } }',
    gcp_secret: 'credential: { type: query, name: key, secret: { gcp_secret: projects/p/secrets/up } }',
  }
  const upstreams = [
    ...KINDS.map(kind => [kind, credentials[kind]] as const),
    ...Object.entries(KEPT_BACK).map(
      ([name, secret]) => [name, `credential: { type: header, name: x-key, secret: ${secret} }`] as const,
    ),
  ].map(([name, credential]) => `  ${name}: { base: "${world.origin}", speaks: { chat: POST /chat }, ${credential} }\n`)
  const models = [...KINDS, ...Object.keys(KEPT_BACK)]
  const yaml = `version: 1
${CALLER}
secret_managers:
  vault: { address: "${world.origin}", token: { env: VAULT_TOKEN } }
  aws: { region: eu-west-1, endpoint: "${world.origin}", access_key_id: AKIDMANAGER, secret: { env: AWS_MANAGER_KEY } }
  gcp: { endpoint: "${world.origin}" }
store: { type: file, path: ./data }
receipts: on
ledger: {}
log: { level: trace }
telemetry: { otlp: { endpoint: "${collector.origin}", interval: 50ms }, traces: { sample: { rest: 1 } } }
${admin.line}
upstreams:
${upstreams.join('')}models: { ${models.map(name => `${name}: ${name}`).join(', ')} }
`
  const env = {
    ...SECRETS,
    PEM_KEY: String(PEM),
    AWS_ENDPOINT_URL_STS: `${world.origin}/assume`,
    AWS_ACCESS_KEY_ID: 'AKIDEXAMPLE',
    GCE_METADATA_HOST: world.host,
    HOME: '/nowhere',
    GATEWAY_ADMIN_KEY: ADMIN_SECRET,
  }
  const gateway = await startTestGateway(t, yaml, {
    env,
    files: { 'mine.mjs': MADE },
  })
  const places = new Map<string, string>()
  for (const model of KINDS) {
    const good = await gateway.chat({ model })
    t.equal(good.status, model === 'refused' ? 502 : 200, `${model}: ${good.text}`)
    const bad = await gateway.chat({ model, user: 'repeat' })
    t.equal(bad.status, model === 'refused' ? 502 : 400, model)
    places.set(`answers of ${model}`, good.text + bad.text + JSON.stringify([good, bad].map(({ head }) => head.fields)))
    const { plan } = gateway.gateway.loaded
    const body = JSON.stringify({ model, messages: [{ role: 'user', content: 'Hi' }] })
    const asked = { method: 'POST', path: '/v1/chat/completions', key: 'caller', body }
    if (plan !== undefined) places.set(`explain of ${model}`, JSON.stringify(requestFacts(plan, asked)))
  }
  for (const model of Object.keys(KEPT_BACK)) {
    const answer = await gateway.chat({ model })
    t.ok(answer.status >= 400, `${model}: ${answer.status}`)
    places.set(`answer of ${model}`, answer.text + JSON.stringify(answer.head.fields))
  }
  const off = gateway.gateway.plan.off.upstreams
  t.same([...off.keys()].sort(), Object.keys(KEPT_BACK).sort(), 'each says why it is off')
  places.set('what is off', JSON.stringify([...off]))
  const ask = adminOf(t, admin.origin)
  const reads = TABLE.filter(
    ({ method, path }) => method === 'GET' && !/\{|log$|tail|live|heap|cpu|stream|oidc/.test(path),
  )
  t.ok(reads.length > 10)
  for (const { path } of reads) places.set(path, (await ask('GET', path)).text)
  places.set('test call', (await ask('POST', '/admin/upstreams/header/test', {})).text)
  places.set('readiness', (await gateway.request('/readyz?verbose')).text)
  const file = join(gateway.folder, 'gateway.yaml')
  for (const args of [
    ['explain', file],
    ['validate', file],
    ['audit', file],
    ['audit', file, '--format', 'json'],
  ]) {
    const { stdout, stderr } = await command(args, { env: env as Record<string, string> })
    places.set(args.join(' '), stdout + stderr)
  }
  await collector.spans.count(2 * KINDS.length + Object.keys(KEPT_BACK).length)
  await collector.metrics.count(1)
  places.set('spans', JSON.stringify(collector.spans.items))
  places.set('metrics, pushed', JSON.stringify(collector.metrics.items))
  await gateway.gateway.close()
  places.set('log', JSON.stringify(gateway.log.items))
  places.set('store', Buffer.concat(await filesBelow(join(gateway.folder, 'data'))).toString('latin1'))
  const tokens = world.asked.items.flatMap(({ headers: { authorization = '' } }) =>
    authorization.startsWith('AWS4') ? [] : [authorization.split(' ').at(-1) ?? ''],
  )
  const given = JSON.stringify(world.asked.items)
  for (const secret of [KEPT.vault, KEPT.aws, KEPT.gcp, FEDERATION.impersonated, ASSUMED.session, MODULE])
    t.ok(given.includes(secret), 'upstreams got what managers keep, and sessions and tokens of others')
  const secrets = [
    ...[...Object.values(SECRETS), ...Object.values(KEPT), OAUTH, GCP, EXEC, MODULE],
    ...[...Object.values(FEDERATION), ...Object.values(ASSUMED), ...PEM_LINES],
    ...tokens.filter(one => one !== ''),
  ]
  t.ok(new Set(tokens).size >= 6, 'tokens of each type have arrived')
  for (const [place, text] of places) {
    t.ok(text.length > 10, `${place} says something`)
    for (const secret of secrets) {
      const forms = [secret, Buffer.from(secret).toString('base64'), encodeURIComponent(secret)]
      if (forms.some(form => text.includes(form))) t.fail(`${place} has ${secret}`)
    }
  }
})

proveNoLeak(t)
