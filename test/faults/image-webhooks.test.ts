import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { packageRoot } from '../../src/core/package-root.js'
import { start } from '../cli/bin.js'
import { startTestGateway } from '../helpers/gateway.js'
import { hookListener, type Notified } from '../helpers/hook-listener.js'
import { DONE, imageProxy, imageYaml } from '../helpers/image-upstream.js'
import { startTaskUpstream } from '../helpers/task-upstream.js'
import { SSRF_URLS } from '../net/ssrf-urls.js'

t.setTimeout(120_000)

const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
const KEY = 'the-key-of-the-caller-0123456789'
const KEYS = { OTHER_KEY: `${KEY}8`, NIJI_KEY: `${KEY}9` }

// biome-ignore lint/suspicious/noExplicitAny: what a client reads
type Json = any

/** A gateway as a process that trusts the listener's certificate, and an upstream that says `record`; gives its address. */
async function gateway(t: Test, port: number, record: () => object): Promise<string> {
  const poll = (id: string) => ({ body: { id, action: 'IMAGINE', ...record() } })
  const upstream = await startTaskUpstream(t, imageProxy({ poll }))
  const folder = mkdtempSync(join(tmpdir(), 'gateway-hooks-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'gateway.yaml')
  const hooks = `webhooks: { secret: { env: HOOK_SECRET }, allow: [localhost, 127.0.0.1], ports: [${port}] }`
  writeFileSync(file, imageYaml(upstream.origin, 'poll: { every: 100ms }', `${hooks}\nlisten: { port: 0 }\n`))
  const NODE_EXTRA_CA_CERTS = join(packageRoot(), 'test/fixtures/tls/first.pem')
  const env = { CALLER_KEY: KEY, UPSTREAM_KEY: 'u', HOOK_SECRET: SECRET, NODE_EXTRA_CA_CERTS, ...KEYS }
  const [, origin = ''] = await start(t, ['serve', file], { env }).until(/"address":"([^"]+)"/)
  return origin
}

async function imagine(origin: string, notifyHook: string): Promise<string> {
  const headers = { 'mj-api-secret': KEY, 'content-type': 'application/json' }
  const body = JSON.stringify({ prompt: 'A cat', state: 'mine', notifyHook })
  const answer = await fetch(`${origin}/mj/submit/imagine`, { method: 'POST', headers, body })
  return ((await answer.json()) as Json).result
}

const COURSE = [
  { status: 'SUBMITTED', progress: '0%' },
  { status: 'IN_PROGRESS', progress: '31%', imageUrl: '/half.png' },
  { status: 'IN_PROGRESS', progress: '62%', imageUrl: '/more.png' },
  { status: 'IN_PROGRESS', progress: '40%', imageUrl: '/more.png' },
  DONE,
]
/** Its progress is less than that of the record before, so it causes no notification. */
const STEP_BACK = 3

/** Says the records one after the other: the next one when `mayGoOn`. */
function course(mayGoOn: (at: number) => boolean): () => object {
  let at = -1
  return () => {
    if (at < 0 || (at < COURSE.length - 1 && mayGoOn(at))) at++
    return COURSE[at] as object
  }
}

const ORDER = ['NOT_START', 'SUBMITTED', 'MODAL', 'IN_PROGRESS', 'FAILURE', 'SUCCESS']

/** The number that never gets smaller from one notification to the next. */
function rank({ status, progress }: Json): number {
  return ORDER.indexOf(status) + Number.parseInt(progress, 10) / 101
}

const isLast = ({ body }: Notified): boolean => JSON.parse(body).status === 'SUCCESS'

t.test('notifyHook: the whole record at each change, never an older one after a newer one', async t => {
  const { url, port, notifications } = await hookListener(t, () => 204)
  const origin = await gateway(
    t,
    port,
    course(at => notifications.items.length > at || at === STEP_BACK),
  )
  const id = await imagine(origin, url)
  const last = JSON.parse((await notifications.find(isLast)).body) as Json
  t.match(last, {
    id,
    action: 'IMAGINE',
    status: 'SUCCESS',
    progress: '100%',
    prompt: 'A cat',
    state: 'mine',
    buttons: [{}],
  })
  t.ok(last.imageUrl.startsWith(`${origin}/mj/image/${id}?`))
  t.equal((await fetch(last.imageUrl)).status, 200)
  const ranks = notifications.items.map(({ body }) => rank(JSON.parse(body)))
  t.equal(ranks.length, COURSE.length - 1, 'each change but the step back')
  t.same(
    ranks,
    [...new Set(ranks)].sort((a, b) => a - b),
  )
  const numbers = notifications.items.map(({ headers }) => Number(headers['webhook-sequence']))
  t.same(
    numbers,
    [...new Set(numbers)].sort((a, b) => a - b),
  )
})

t.test('F-X3 a notifyHook that fails gets the newest record next, and no older one', async t => {
  const { url, port, notifications } = await hookListener(t, count => (count === 1 ? 500 : 200))
  const origin = await gateway(
    t,
    port,
    course(() => notifications.items.length > 0),
  )
  const id = await imagine(origin, url)
  await notifications.find(isLast)
  t.same(
    notifications.items.map(({ body }) => JSON.parse(body).status),
    ['SUBMITTED', 'SUCCESS'],
  )
  t.not(notifications.items[0]?.headers['webhook-id'], notifications.items[1]?.headers['webhook-id'])
  t.match(notifications.items[1]?.headers['webhook-id'], new RegExp(`^msg_${id}\\.\\d+$`))
})

t.test('F-X1 a notifyHook at an inner address is refused, or not called', async t => {
  const upstream = await startTaskUpstream(t, imageProxy())
  const yaml = imageYaml(upstream.origin, undefined, 'webhooks: { secret: { env: HOOK_SECRET } }\n')
  const up = await startTestGateway(t, yaml, { env: { HOOK_SECRET: SECRET, ...KEYS } })
  const inner = SSRF_URLS.map(spell => spell(443).replace(/^http:/, 'https:'))
  const hooks = [...inner, ...SSRF_URLS.map(spell => spell(80)), 'ftp://example.com/', 'https://', 'x']
  let refusedAtOnce = 0
  for (const notifyHook of hooks) {
    const answer = await up.request('/mj/submit/imagine', { body: { prompt: 'A cat', notifyHook } })
    // What a name leads to is looked at when it is called; all else at once.
    if (answer.status === 200) continue
    refusedAtOnce++
    t.equal(answer.status, 400, notifyHook)
    t.match(answer.json(), { code: 4, description: /notifyHook/, result: null })
  }
  t.ok(refusedAtOnce > 240, `${refusedAtOnce} of ${hooks.length}`)
  t.equal(upstream.submits.length, hooks.length - refusedAtOnce)
  await up.gateway.close()
  const lines = up.log.items.filter(line => String(line.msg).startsWith('notification '))
  t.ok(
    lines.every(line => typeof line.blocked === 'string'),
    'nothing was called',
  )
})

t.test('without webhooks nothing is sent, and requests for one are refused', async t => {
  const upstream = await startTaskUpstream(t, imageProxy())
  const up = await startTestGateway(t, imageYaml(upstream.origin), { env: KEYS })
  const ask = (notifyHook: string) => up.request('/mj/submit/imagine', { body: { prompt: 'A cat', notifyHook } })
  const refused = await ask('https://example.com/hook')
  t.equal(refused.status, 400)
  t.match(refused.json(), { code: 4, description: /not enabled/ })
  t.equal((await ask('')).status, 200, 'an empty one is none')
})
