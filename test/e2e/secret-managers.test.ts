import { generateKeyPairSync } from 'node:crypto'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import t, { type Test } from 'tap'
import { signed } from '../../src/credentials/aws/sign.js'
import { CHAT_ANSWER, json } from '../helpers/answers.js'
import { canary, proveNoLeak } from '../helpers/canaries.js'
import { startConnectProxy } from '../helpers/connect-proxy.js'
import { CALLER, type GatewayOptions, startTestGateway, type TestGateway } from '../helpers/gateway.js'
import { Journal } from '../helpers/journal.js'
import { listening } from '../helpers/listening.js'
import { type RawUpstream, startRawUpstream } from '../helpers/raw-upstream.js'

// Secrets that are in secret managers: servers here answer as the managers' public references say, and refuse everything else.

interface Asked {
  readonly method: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

interface Answer {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body: unknown
}

interface Manager {
  readonly origin: string
  readonly asked: Journal<Asked>
  /** In place of what it usually answers. */
  mood: number | Answer | undefined
}

async function startManager(t: Test, answer: (asked: Asked) => Answer): Promise<Manager> {
  const asked = new Journal<Asked>('requests to the manager')
  const state: { mood: Manager['mood'] } = { mood: undefined }
  const server = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', (text: string) => {
      body += text
    })
    request.on('end', () => {
      const one = { method: request.method ?? '', path: request.url ?? '', headers: request.headers, body }
      const { mood } = state
      const said = typeof mood === 'number' ? { status: mood, body: { errors: ['no'] } } : (mood ?? answer(one))
      const headers = { 'content-type': 'application/json', ...said.headers }
      response.writeHead(said.status ?? 200, headers).end(JSON.stringify(said.body))
      asked.push(one)
    })
  })
  const origin = `http://127.0.0.1:${await listening(t, server)}`
  return Object.assign(state, { origin, asked })
}

const TOKEN = canary('upstream')
const SECRET_ID = canary('upstream')

interface Vault extends Manager {
  /** What is kept, by path. Those below `secret/data/` are of version 2. */
  readonly kept: Record<string, Readonly<Record<string, string>>>
  /** Tokens that it knows. */
  readonly tokens: Set<string>
  /** Paths that no token may read. */
  readonly denied: Set<string>
  /** Of a login, and of a renewal. */
  leaseSeconds: number
  renews: boolean
  /** How often it takes the SecretID. */
  logins: number
}

async function startVault(t: Test): Promise<Vault> {
  const kept: Vault['kept'] = {}
  const tokens = new Set([TOKEN])
  const ways = { leaseSeconds: 3600, renews: true, logins: Number.POSITIVE_INFINITY }
  const leased = (token: string): Answer => ({
    body: { auth: { client_token: token, lease_duration: vault.leaseSeconds, renewable: true } },
  })
  const login = (isRight: boolean): Answer => {
    if (!isRight || vault.logins-- <= 0) return { status: 400, body: { errors: ['invalid'] } }
    const token = `hvs.${tokens.size}-${TOKEN}`
    tokens.add(token)
    return leased(token)
  }
  const manager = await startManager(t, ({ method, path, headers, body }) => {
    if (headers['x-vault-namespace'] !== 'team') return { status: 404, body: { errors: [] } }
    const sent = body === '' ? {} : (JSON.parse(body) as Record<string, string>)
    if (method === 'POST' && path === '/v1/auth/approle/login')
      return login(sent.role_id === 'gateway' && sent.secret_id === SECRET_ID)
    if (method === 'POST' && path === '/v1/auth/cluster/login')
      return login(sent.role === 'gateway' && sent.jwt === 'the.pod.token')
    const token = String(headers['x-vault-token'])
    if (method === 'POST' && path === '/v1/auth/token/renew-self' && vault.renews && tokens.has(token))
      return leased(token)
    if (path === '/v1/auth/token/lookup-self' && tokens.has(token)) return { body: { data: { id: token } } }
    if (method !== 'GET' || !tokens.has(token) || vault.denied.has(path))
      return { status: 403, body: { errors: ['permission denied'] } }
    const data = kept[path.replace('/v1/', '')]
    if (data === undefined) return { status: 404, body: { errors: [] } }
    return { body: { data: path.startsWith('/v1/secret/data/') ? { data, metadata: { version: 1 } } : data } }
  })
  const vault: Vault = Object.assign(manager, { kept, tokens, denied: new Set<string>(), ...ways })
  return vault
}

interface Stage {
  readonly yaml: string
  readonly gateway: TestGateway
  readonly upstream: RawUpstream
}

/** One upstream `up` for the model `m`, its secret as said. */
async function stage(
  t: Test,
  managers: string,
  secret: string,
  options: GatewayOptions = {},
  more = '',
): Promise<Stage> {
  const upstream = await startRawUpstream(t)
  upstream.answer(json(CHAT_ANSWER))
  const yaml = `version: 1
${CALLER}
secret_managers: ${managers}
upstreams:
  up: { kind: openai, base: "${upstream.origin}", secret: ${secret} }
models: { m: up }
${more}`
  const env = { VAULT_TOKEN: TOKEN, SECRET_ID, ...options.env }
  return { yaml, upstream, gateway: await startTestGateway(t, yaml, { ...options, env }) }
}

async function sent({ gateway, upstream }: Stage): Promise<string | undefined> {
  const count = upstream.requests.items.length
  const answer = await gateway.chat()
  if (answer.status !== 200) return String(answer.status)
  const requests = await upstream.requests.count(count + 1)
  return requests.at(-1)?.header('authorization')?.replace('Bearer ', '')
}

function loginsOf({ asked }: Vault): number {
  return asked.items.filter(({ path }) => path.endsWith('/login')).length
}

async function verbose(gateway: TestGateway): Promise<Record<string, Record<string, unknown>>> {
  return (await gateway.request('/readyz?verbose')).json() as Record<string, Record<string, unknown>>
}

const vaultAt = ({ origin }: Manager, more = 'token: { env: VAULT_TOKEN }', refresh = '1h'): string =>
  `{ refresh: ${refresh}, timeout: 2s, vault: { address: "${origin}", namespace: team, ${more} } }`

t.test('Vault: both versions of KV, a field or the only one; a path is read once for all who need it', async t => {
  const vault = await startVault(t)
  const [first, second, third] = [canary('upstream'), canary('upstream'), canary('upstream')]
  vault.kept['secret/data/north'] = { key: first, other: second }
  vault.kept['kv/south'] = { value: third }
  const upstream = await startRawUpstream(t)
  upstream.answer(json(CHAT_ANSWER))
  const up = (secret: string): string => `{ kind: openai, base: "${upstream.origin}", secret: ${secret} }`
  const yaml = `version: 1
${CALLER}
secret_managers: ${vaultAt(vault)}
upstreams:
  a: ${up('{ vault: secret/data/north, field: key }')}
  b: ${up('{ vault: secret/data/north, field: other }')}
  c: ${up('{ vault: kv/south }')}
models: { a: a, b: b, c: c }
`
  const gateway = await startTestGateway(t, yaml, { env: { VAULT_TOKEN: TOKEN } })
  for (const model of ['a', 'b', 'c']) t.equal((await gateway.chat({ model })).status, 200)
  const used = upstream.requests.items.map(one => one.header('authorization'))
  t.same(used, [`Bearer ${first}`, `Bearer ${second}`, `Bearer ${third}`])
  t.same(vault.asked.items.map(({ path }) => path).sort(), ['/v1/kv/south', '/v1/secret/data/north'])
  t.notOk('secrets' in (await verbose(gateway)), 'nothing is wrong')
})

t.test('Vault: logins by AppRole and by a service account; a token that was revoked is got anew', async t => {
  for (const login of [
    'app_role: { role_id: gateway, secret_id: { env: SECRET_ID } }',
    'kubernetes: { role: gateway, mount: cluster, token_file: pod.token }',
  ]) {
    const vault = await startVault(t)
    const secret = canary('upstream')
    vault.kept['secret/data/north'] = { key: secret }
    const files = { 'pod.token': 'the.pod.token\n' }
    const ready = await stage(t, vaultAt(vault, login), '{ vault: secret/data/north, field: key }', { files })
    t.equal(await sent(ready), secret)
    vault.tokens.clear()
    const next = canary('upstream')
    vault.kept['secret/data/north'] = { key: next }
    await ready.gateway.gateway.reload()
    t.equal(await sent(ready), next)
    t.equal(loginsOf(vault), 2)
  }
})

t.test(
  'Vault: secrets that come and go are read with the same login, and one that it may not read takes none away',
  async t => {
    const vault = await startVault(t)
    // The SecretID is good for one login.
    vault.logins = 1
    const [first, second] = [canary('upstream'), canary('upstream')]
    vault.kept['kv/north'] = { key: first }
    vault.denied.add('/v1/kv/south')
    const [north, south] = ['{ vault: kv/north }', '{ vault: kv/south }']
    const login = 'app_role: { role_id: gateway, secret_id: { env: SECRET_ID } }'
    const ready = await stage(t, vaultAt(vault, login), north)
    const { gateway, yaml } = ready
    t.equal(await sent(ready), first)
    const reloaded = async (text: string): Promise<string | undefined> => {
      await gateway.write('gateway.yaml', text)
      await gateway.gateway.reload()
      return gateway.gateway.plan.off.upstreams.get('other')
    }
    const other = `  other: { kind: openai, base: "http://127.0.0.1:1", secret: ${south} }`
    t.match(await reloaded(yaml.replace('\nmodels:', `\n${other}\nmodels:`)), /answered with status 403/)
    vault.kept['kv/north'] = { key: second }
    await gateway.gateway.reload()
    t.equal(await sent(ready), second, 'the login still reads')
    vault.denied.clear()
    vault.kept['kv/south'] = { key: first }
    t.equal(await reloaded(yaml.replace(north, south)), undefined)
    t.equal(await sent(ready), first)
    t.equal(loginsOf(vault), 1)
  },
)

t.test(
  'Vault: a login is renewed ahead of its end, once for all secrets; where it is not, there is another',
  async t => {
    const vault = await startVault(t)
    // The SecretID is good for one login.
    Object.assign(vault, { leaseSeconds: 3, logins: 1 })
    vault.kept['secret/data/north'] = { key: canary('upstream'), other: canary('upstream') }
    vault.kept['kv/south'] = { value: canary('upstream') }
    const up = (secret: string): string => `{ kind: openai, base: "http://127.0.0.1:1", secret: ${secret} }`
    const yaml = `version: 1
${CALLER}
secret_managers: ${vaultAt(vault, 'app_role: { role_id: gateway, secret_id: { env: SECRET_ID } }')}
upstreams: { a: ${up('{ vault: secret/data/north, field: key }')}, b: ${up('{ vault: kv/south }')} }
models: { a: a, b: b }
`
    const gateway = await startTestGateway(t, yaml, { env: { SECRET_ID } })
    const posts = (): readonly string[] =>
      vault.asked.items.flatMap(({ method, path }) => (method === 'POST' ? [path.replace('/v1/auth/', '')] : []))
    const renewed = await vault.asked.find(({ path }) => path.endsWith('/renew-self'))
    t.equal(renewed.headers['x-vault-token'], `hvs.1-${TOKEN}`)
    Object.assign(vault, { renews: false, logins: 1 })
    const [north, south] = ['/v1/secret/data/north', '/v1/kv/south'].map(path =>
      vault.asked.find(one => one.path === path && one.headers['x-vault-token'] === `hvs.2-${TOKEN}`),
    )
    await Promise.all([north, south])
    t.same(posts(), ['approle/login', 'token/renew-self', 'token/renew-self', 'approle/login'])
    t.notOk('secrets' in (await verbose(gateway)), 'nothing was missing')
  },
)

t.test('a secret is fetched again after a time; while the manager is away, what was fetched serves', async t => {
  const vault = await startVault(t)
  const [first, second, third] = [canary('upstream'), canary('upstream'), canary('upstream')]
  vault.kept['secret/data/north'] = { key: first }
  // No file has changed, so the new secret gets all requests at once.
  const more = 'reload: { canary: 1%, for: 1h }\n'
  const ready = await stage(t, vaultAt(vault, undefined, '1s'), '{ vault: secret/data/north, field: key }', {}, more)
  const { log } = ready.gateway
  t.equal(await sent(ready), first)
  vault.kept['secret/data/north'] = { key: second }
  await log.find(line => line.msg === 'reloaded')
  t.equal(await sent(ready), second)

  vault.mood = 503
  const gone = await log.find(line => line.msg === 'a secret cannot be fetched')
  t.match(gone, { secret: 'vault secret/data/north#key', cause: /answered with status 503/ })
  t.equal(await sent(ready), second)
  t.match((await verbose(ready.gateway)).secrets?.['vault secret/data/north#key'], /status 503/)
  await ready.gateway.gateway.reload()
  t.equal(await sent(ready), second, 'also after a reload')

  vault.kept['secret/data/north'] = { key: third }
  vault.mood = undefined
  await log.find(line => line.msg === 'a secret can be fetched again')
  await log.find(line => line.msg === 'reloaded' && Number(line.generation) >= 3)
  t.equal(await sent(ready), third)
  t.notOk('secrets' in (await verbose(ready.gateway)))
})

t.test('a manager that is away at the start: its upstreams are off, by name, and on when it is back', async t => {
  const vault = await startVault(t)
  const secret = canary('upstream')
  vault.kept['secret/data/north'] = { key: secret }
  vault.mood = 500
  const ready = await stage(t, vaultAt(vault), '{ vault: secret/data/north, field: key }')
  const { log } = ready.gateway
  const off = await log.find(line => line.msg === 'upstreams are off')
  t.match(off, {
    upstreams: { up: /^vault secret\/data\/north#key could not be fetched: 127\S+ answered with status 500$/ },
  })
  t.match(await log.find(line => line.msg === 'a secret cannot be fetched'), { cause: /status 500/ })
  t.match((await verbose(ready.gateway)).off, { upstreams: { up: /could not be fetched/ } })
  vault.mood = undefined
  await log.find(line => line.msg === 'an upstream is on again')
  t.equal(await sent(ready), secret)
})

t.test('an upstream that refuses its secret: it is fetched again at once', async t => {
  const vault = await startVault(t)
  const [old, rotated] = [canary('upstream'), canary('upstream')]
  vault.kept['secret/data/north'] = { key: old }
  const ready = await stage(t, vaultAt(vault), '{ vault: secret/data/north, field: key }')
  vault.kept['secret/data/north'] = { key: rotated }
  ready.upstream.answer(peer =>
    (peer.request.header('authorization') === `Bearer ${old}`
      ? json({ error: {} }, { status: 401 })
      : json(CHAT_ANSWER))(peer),
  )
  await ready.gateway.chat()
  await ready.gateway.log.find(line => line.msg === 'reloaded')
  t.equal(await sent(ready), rotated)
})

t.test('what a manager says in place of a secret is a fault, and redirects are not followed', async t => {
  const other = await startManager(t, () => ({ body: { data: { value: 'stolen' } } }))
  const moods: readonly (readonly [Answer, RegExp])[] = [
    [{ status: 307, headers: { location: `${other.origin}/v1/kv/x` }, body: {} }, /status 307/],
    [{ status: 404, body: { errors: [] } }, /status 404/],
    [{ body: { data: null } }, /sent no data/],
    [{ body: { data: { a: '1', b: '2' } } }, /name one of its fields with field: a, b/],
    [{ body: { data: { only: 5 } } }, /no field only with a text/],
    [{ body: { data: { value: ' ' } } }, /it is empty/],
    [{ body: { data: { value: 'x'.repeat(70_000) } } }, /more than 65536 characters/],
    [{ body: { data: { value: 'x'.repeat(300_000) } } }, /more than \d+ bytes/],
  ]
  for (const [mood, words] of moods) {
    const vault = await startVault(t)
    vault.mood = mood
    const { gateway } = await stage(t, vaultAt(vault), '{ vault: kv/x }')
    t.match(gateway.gateway.plan.off.upstreams.get('up'), words)
  }
  t.equal(other.asked.items.length, 0)
})

t.test('requests to a manager leave by the proxy of egress', async t => {
  const vault = await startVault(t)
  const secret = canary('upstream')
  vault.kept['kv/x'] = { value: secret }
  const proxy = await startConnectProxy(t)
  const more = `egress: { proxy: "${proxy.origin}" }\n`
  t.equal(await sent(await stage(t, vaultAt(vault), '{ vault: kv/x }', {}, more)), secret)
  t.equal(proxy.asked.items[0]?.authority, new URL(vault.origin).host)
})

t.test('AWS Secrets Manager: GetSecretValue, signed; a field of a JSON text', async t => {
  const access = { id: 'AKIAEXAMPLE00000003', secret: canary('upstream') }
  const secret = canary('upstream')
  const manager = await startManager(t, ({ headers, body }) => {
    if (headers['x-amz-target'] !== 'secretsmanager.GetSecretValue') return { status: 400, body: { __type: 'Unknown' } }
    if (body !== '{"SecretId":"prod/north"}')
      return { status: 400, body: { __type: 'com.amazonaws#ResourceNotFoundException', Message: 'no' } }
    return { body: { Name: 'prod/north', SecretString: JSON.stringify({ key: secret, other: 1 }) } }
  })
  const aws = `{ aws: { region: eu-west-1, endpoint: "${manager.origin}", access_key_id: ${access.id}, secret: { env: AWS_KEY } } }`
  const env = { AWS_KEY: access.secret }
  t.equal(await sent(await stage(t, aws, '{ aws_secret: prod/north, field: key }', { env })), secret)
  const [{ headers, body }] = (await manager.asked.count(1)) as [Asked]
  const stamp = String(headers['x-amz-date'])
  const date = new Date(stamp.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'))
  const flat = ['content-type', 'application/x-amz-json-1.1', 'x-amz-target', 'secretsmanager.GetSecretValue']
  const request = { method: 'POST', path: '/', headers: flat, body: Buffer.from(body) }
  const scope = { service: 'secretsmanager', region: 'eu-west-1', payload: 'signed' } as const
  const again = await signed(request, String(headers.host), access, scope, date)
  const at = again.headers.findIndex(name => name.toLowerCase() === 'authorization')
  t.equal(headers.authorization, again.headers[at + 1], 'the signature fits what arrived')
  const { gateway } = await stage(t, aws, '{ aws_secret: prod/south }', { env })
  t.match(gateway.gateway.plan.off.upstreams.get('up'), /aws prod\/south .* status 400 \(ResourceNotFoundException\)/)
})

t.test('Secret Manager of Google Cloud: the latest version, or one that is named', async t => {
  const [latest, older] = [canary('upstream'), canary('upstream')]
  const accessToken = canary('upstream')
  const manager = await startManager(t, ({ path, headers, body }) => {
    if (path === '/token') {
      const isRight = body.includes('assertion=')
      return isRight ? { body: { access_token: accessToken, expires_in: 3600 } } : { status: 400, body: {} }
    }
    if (headers.authorization !== `Bearer ${accessToken}`) return { status: 401, body: {} }
    const text = path.endsWith('/versions/latest:access')
      ? `${latest}\n`
      : path.endsWith('/versions/3:access')
        ? older
        : ''
    return { body: { name: path, payload: { data: Buffer.from(text).toString('base64') } } }
  })
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const account = {
    ...{ type: 'service_account', client_email: 'g@p.iam', token_uri: `${manager.origin}/token` },
    private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
  }
  const files = { 'account.json': JSON.stringify(account) }
  const gcp = `{ gcp: { file: account.json, endpoint: "${manager.origin}" } }`
  t.equal(await sent(await stage(t, gcp, '{ gcp_secret: projects/p/secrets/north }', { files })), latest)
  t.equal(await sent(await stage(t, gcp, '{ gcp_secret: projects/p/secrets/north/versions/3 }', { files })), older)
  t.equal(manager.asked.items.at(-1)?.path, '/v1/projects/p/secrets/north/versions/3:access')
  const { gateway } = await stage(t, gcp, '{ gcp_secret: "projects/p/../x" }', { files })
  t.match(gateway.gateway.plan.off.upstreams.get('up'), /expected a name such as/)
})

t.test('a large configuration is read on a thread: its secrets are fetched there, too', async t => {
  const vault = await startVault(t)
  const [first, second] = [canary('upstream'), canary('upstream')]
  vault.kept['kv/x'] = { value: first }
  const filler = `# ${'x'.repeat(100)}\n`.repeat(120)
  const ready = await stage(t, vaultAt(vault), '{ vault: kv/x }', {}, filler)
  t.equal(await sent(ready), first)
  vault.kept['kv/x'] = { value: second }
  await ready.gateway.gateway.reload()
  t.equal(await sent(ready), second)
})

proveNoLeak(t)
