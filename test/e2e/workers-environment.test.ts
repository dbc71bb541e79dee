import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { type Bin, start } from '../cli/bin.js'
import { ADMIN_SECRET, adminLine, adminOf } from '../helpers/admin.js'
import { CHAT_ANSWER, json } from '../helpers/answers.js'
import { type Asked, startCloud } from '../helpers/cloud.js'
import { CALLER } from '../helpers/gateway.js'
import type { Journal } from '../helpers/journal.js'
import { type RawUpstream, startRawUpstream } from '../helpers/raw-upstream.js'
import { until } from '../helpers/workers.js'

/** What two workers know of what is outside of the configuration: variables, and secrets in managers. */

t.setTimeout(120_000)

const KEY = 'caller-key-of-the-workers-0123456789'
const env = { CALLER_KEY: KEY, GATEWAY_ADMIN_KEY: ADMIN_SECRET }
const VARIABLES = `AWS_ACCESS_KEY_ID=AKIAEXAMPLE00000001
AWS_SECRET_ACCESS_KEY=the/secret+access/key
VAULT_TOKEN=the-token-of-the-vault
ZONE=Europe/Berlin
`

interface Stage {
  readonly bin: Bin
  readonly origin: string
  readonly file: string
  readonly upstream: RawUpstream
  readonly ask: ReturnType<typeof adminOf>
  readonly vault: Journal<Asked>
}

async function stage(t: Test): Promise<Stage> {
  const upstream = await startRawUpstream(t)
  upstream.answer(json(CHAT_ANSWER))
  const vault = await startCloud(t, () => ({ body: JSON.stringify({ data: { value: 'kept-in-the-vault' } }) }))
  const { line, origin: admin } = await adminLine(', write: true')
  const cwd = t.testdir({
    'vars.env': VARIABLES,
    'gateway.yaml': `version: 1
${CALLER}
secret_managers: { vault: { address: "${vault.origin}", token: { env: VAULT_TOKEN } } }
upstreams:
  cloud:
    base: "${upstream.origin}"
    speaks: { chat: POST /v1/chat/completions }
    credential: { type: aws-sigv4, service: bedrock, region: eu-west-1 }
  kept: { kind: openai, base: "${upstream.origin}", secret: { vault: kv/north } }
models: { m: cloud, n: kept }
time_zone: "$\{ZONE}"
workers: 2
${line}
`,
  })
  const bin = start(t, ['serve', '--port', '0', '--env-file', 'vars.env'], { cwd, env, bare: true })
  await bin.until(/"all workers serve"/)
  const [, origin = ''] = await bin.until(/listening on (\S+)/)
  return { bin, origin, file: join(cwd, 'gateway.yaml'), upstream, ask: adminOf(t, admin), vault: vault.asked }
}

t.test('workers sign with the credentials of the environment, and check drafts by it', async t => {
  const { bin, origin, file, upstream, ask, vault } = await stage(t)
  const chat = async (): Promise<number> => {
    const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json', connection: 'close' }
    const body = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'hi' }] })
    return (await fetch(`${origin}/v1/chat/completions`, { method: 'POST', headers, body })).status
  }
  const served = (): ReadonlySet<string> =>
    new Set([...bin.stderr.matchAll(/"worker":(\d).*"msg":"request"/g)].map(([, worker = '']) => worker))
  await until(async () => {
    t.same(new Set(await Promise.all([chat(), chat(), chat(), chat()])), new Set([200]))
    return served().size === 2
  })
  for (const request of upstream.requests.items)
    t.match(request.header('authorization'), 'Credential=AKIAEXAMPLE00000001/')

  const text = readFileSync(file, 'utf8')
  const fetched = vault.items.length
  const same = await ask('POST', '/admin/plan/check', { text })
  t.same(same.json(), { valid: true, changes: {}, problems: [] })
  const more = await ask('POST', '/admin/plan/check', { text: `${text}timeouts: { total: 1m }\n` })
  t.match(more.json(), { valid: true, changes: { settings: ['timeouts'] } })
  t.same(Object.keys((more.json() as unknown as { changes: object }).changes), ['settings'])
  t.equal(vault.items.length, fetched, 'a check asks no manager')
})

t.test('of drafts that several people apply at the same time one is written, whichever worker has it', async t => {
  const { file, ask } = await stage(t)
  const text = readFileSync(file, 'utf8')
  const { digest } = (await ask('GET', '/admin/plan/file')).json() as unknown as { digest: string }
  const drafts = Array.from({ length: 8 }, (_, n) => `${text}timeouts: { total: ${n + 1}m }\n`)
  const statuses = await Promise.all(
    drafts.map(async draft => (await ask('POST', '/admin/plan/apply', { text: draft, digest })).status),
  )
  t.same([...statuses].sort(), [200, ...Array(7).fill(409)])
  t.equal(readFileSync(file, 'utf8'), drafts[statuses.indexOf(200)])
  t.same(
    readdirSync(join(file, '..')).filter(name => name.startsWith('gateway.yaml')),
    ['gateway.yaml'],
  )
})

t.test('where a key of the store has limits, drafts in workers are counted, too', async t => {
  const { bin, file, ask } = await stage(t)
  const text = `${readFileSync(file, 'utf8')}timeouts: { total: 1m }\n`
  const check = async () => (await ask('POST', '/admin/plan/check', { text })).json()
  const before = await check()
  t.equal((await ask('POST', '/admin/keys', { name: 'team', limits: { requests: '2/day' } })).status, 201)
  await until(() => /"msg":"reloaded"/.test(bin.stderr))
  for (let tries = 0; tries < 4; tries++) t.same(await check(), before)
})
