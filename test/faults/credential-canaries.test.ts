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
} as const
/** Of servers: tokens, and the secret in the manager. */
const [OAUTH, GCP, EXEC, MANAGED] = [canary('upstream'), canary('upstream'), canary('upstream'), canary('upstream')]

const KINDS = [
  'header',
  'query',
  'basic',
  'headers',
  'oauth2',
  'refused',
  'jwt',
  'gcp',
  'exec',
  'aws',
  'vault',
] as const

interface Asked {
  readonly target: string
  readonly headers: IncomingMessage['headers']
}

/** Upstream, token server, metadata server and secret manager. */
async function startWorld(t: Test): Promise<{ origin: string; host: string; asked: Journal<Asked> }> {
  const asked = new Journal<Asked>('requests to upstreams')
  const server = createServer((request, response) => {
    const { url: target = '', headers } = request
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString()
      const send = (status: number, answer: unknown): void => {
        response.writeHead(status, { 'content-type': 'application/json', 'metadata-flavor': 'Google' })
        response.end(JSON.stringify(answer))
      }
      if (target === '/token') send(200, { access_token: OAUTH, token_type: 'Bearer', expires_in: 3600 })
      else if (target === '/refusing')
        send(401, { error: 'invalid_client', error_description: body + JSON.stringify(headers) })
      else if (target.startsWith('/computeMetadata/'))
        send(200, { access_token: GCP, token_type: 'Bearer', expires_in: 3600 })
      else if (target.startsWith('/v1/secret/'))
        send(200, { data: { data: { key: MANAGED }, metadata: { version: 1 } } })
      else {
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
  const credentials: Readonly<Record<(typeof KINDS)[number], string>> = {
    header: 'credential: { type: header, name: x-key, secret: { env: HEADER } }',
    query: 'credential: { type: query, name: key, secret: { env: QUERY } }',
    basic: 'credential: { type: basic, user: team, secret: { env: PASSWORD } }',
    headers: 'credential: { type: headers, headers: { X-App: shop, X-Part: { env: PART } } }',
    oauth2: `credential: { type: oauth2, token_url: "${world.origin}/token", client_id: me, secret: { env: CLIENT_SECRET } }`,
    refused: `credential: { type: oauth2, token_url: "${world.origin}/refusing", client_id: me, auth: body, secret: { env: REFUSED_SECRET } }`,
    jwt: 'credential: { type: jwt, key: { env: SIGNING_KEY }, algorithm: HS256, issuer: me }',
    gcp: 'credential: { type: gcp }',
    exec: `credential: { type: exec, command: [cat, "${join(own, 'token')}"] }`,
    aws: 'credential: { type: aws-sigv4, service: bedrock, region: eu-west-1 }',
    vault:
      'credential: { in: header, name: authorization, scheme: Bearer, secret: { vault: secret/data/up, field: key } }',
  }
  const upstreams = KINDS.map(
    kind => `  ${kind}: { base: "${world.origin}", speaks: { chat: POST /chat }, ${credentials[kind]} }\n`,
  )
  const yaml = `version: 1
${CALLER}
secret_managers: { vault: { address: "${world.origin}", token: { env: VAULT_TOKEN } } }
store: { type: file, path: ./data }
receipts: on
ledger: {}
log: { level: trace }
telemetry: { otlp: { endpoint: "${collector.origin}", interval: 50ms }, traces: { sample: { rest: 1 } } }
${admin.line}
upstreams:
${upstreams.join('')}models: { ${KINDS.map(kind => `${kind}: ${kind}`).join(', ')} }
`
  const env = {
    ...SECRETS,
    AWS_ACCESS_KEY_ID: 'AKIDEXAMPLE',
    GCE_METADATA_HOST: world.host,
    HOME: '/nowhere',
    GATEWAY_ADMIN_KEY: ADMIN_SECRET,
  }
  const gateway = await startTestGateway(t, yaml, { env })
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
  const ask = adminOf(t, admin.origin)
  const reads = TABLE.filter(
    ({ method, path }) => method === 'GET' && !/\{|log$|tail|live|heap|cpu|stream|oidc/.test(path),
  )
  t.ok(reads.length > 10)
  for (const { path } of reads) places.set(path, (await ask('GET', path)).text)
  places.set('test call', (await ask('POST', '/admin/upstreams/header/test', {})).text)
  places.set('metrics', (await gateway.request('/readyz?verbose')).text)
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
  await collector.spans.count(2 * KINDS.length)
  await collector.metrics.count(1)
  places.set('spans', JSON.stringify(collector.spans.items))
  places.set('metrics, pushed', JSON.stringify(collector.metrics.items))
  await gateway.gateway.close()
  places.set('log', JSON.stringify(gateway.log.items))
  places.set('store', Buffer.concat(await filesBelow(join(gateway.folder, 'data'))).toString('latin1'))
  const tokens = world.asked.items.flatMap(({ headers: { authorization = '' } }) =>
    authorization.startsWith('AWS4') ? [] : [authorization.split(' ').at(-1) ?? ''],
  )
  const secrets = [...Object.values(SECRETS), OAUTH, GCP, EXEC, MANAGED, ...tokens.filter(one => one !== '')]
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
