import { createHmac } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { packageRoot } from '../../src/core/package-root.js'
import { type Bin, run, start } from '../cli/bin.js'
import { hookListener, type Notified } from '../helpers/hook-listener.js'
import { imageProxy, imageYaml } from '../helpers/image-upstream.js'
import { startTaskUpstream } from '../helpers/task-upstream.js'

// F-X3: targets of notifications that hang, refuse, or come late.

t.setTimeout(120_000)

const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
const KEY = 'the-key-of-the-caller-0123456789'
const ENV = {
  ...{ CALLER_KEY: KEY, OTHER_KEY: `${KEY}8`, NIJI_KEY: `${KEY}9`, UPSTREAM_KEY: 'u', HOOK_SECRET: SECRET },
  NODE_EXTRA_CA_CERTS: join(packageRoot(), 'test/fixtures/tls/first.pem'),
}

interface Stage {
  readonly file: string
  /** What the upstream says of every task. */
  now: object
  /** Starts a gateway as a process. */
  open(): Promise<{ readonly bin: Bin; readonly origin: string }>
}

async function stage(t: Test, ports: readonly number[], more: string): Promise<Stage> {
  const made = { now: { status: 'SUBMITTED', progress: '0%' } as object }
  const upstream = await startTaskUpstream(t, (request, self) => imageProxy({ records: [made.now] })(request, self))
  const folder = mkdtempSync(join(tmpdir(), 'gateway-hooks-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'gateway.yaml')
  const hooks = `webhooks: { secret: { env: HOOK_SECRET }, allow: [localhost, 127.0.0.1], ports: [${ports}], ${more} }`
  const rest = `${hooks}\nlisten: { port: 0 }\ntasks: { lease: 1s }\n`
  writeFileSync(file, imageYaml(upstream.origin, 'poll: { every: 50ms }', rest).replace('type: memory', 'type: file'))
  const open = async () => {
    const bin = start(t, ['serve', file], { env: ENV })
    const [, origin = ''] = await bin.until(/"address":"([^"]+)"/)
    return { bin, origin }
  }
  return Object.assign(made, { file, open })
}

async function imagine(origin: string, notifyHook: string): Promise<string> {
  const headers = { 'mj-api-secret': KEY, 'content-type': 'application/json' }
  const body = JSON.stringify({ prompt: 'A cat', notifyHook })
  const answer = await fetch(`${origin}/mj/submit/imagine`, { method: 'POST', headers, body })
  return ((await answer.json()) as { result: string }).result
}

const sequenceOf = ({ headers }: Notified): number => Number(headers['webhook-sequence'])

/** Whether a notification is signed for the moment that it names. */
function isSigned({ headers, body }: Notified): boolean {
  const key = Buffer.from(SECRET.slice('whsec_'.length), 'base64')
  const text = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`
  return headers['webhook-signature'] === `v1,${createHmac('sha256', key).update(text).digest('base64')}`
}

t.test('F-X3 a target that hangs holds up no one else', async t => {
  const hanging = await hookListener(t, () => 'hang')
  const sound = await hookListener(t, () => 204)
  const { open } = await stage(t, [hanging.port, sound.port], 'timeout: 60s')
  const { origin } = await open()
  // More than are reported at a time. None of them is given up while this test lasts.
  await Promise.all(Array.from({ length: 40 }, () => imagine(origin, hanging.url)))
  await hanging.notifications.count(8)
  await imagine(origin, sound.url)
  await sound.notifications.count(1)
  t.equal(hanging.notifications.items.length, 8, 'one host gets only so many at a time')
})

t.test('F-X3 a target that hangs is asked again: the same id, signed for its own moment', async t => {
  const { url, port, notifications } = await hookListener(t, count => (count === 1 ? 'hang' : 204))
  const { open } = await stage(t, [port], 'timeout: 2s')
  const { origin, bin } = await open()
  await imagine(origin, url)
  await bin.until(/"msg":"notification again"/)
  await notifications.count(2)
  await bin.until(/"msg":"notification taken"[^\n]*"attempt":2/)
  const [first, second] = notifications.items as [Notified, Notified]
  t.equal(second.headers['webhook-id'], first.headers['webhook-id'])
  t.equal(second.body, first.body)
  t.not(second.headers['webhook-timestamp'], first.headers['webhook-timestamp'], 'an old one cannot be replayed')
  t.ok(isSigned(first))
  t.ok(isSigned(second))
})

t.test('F-X3 undelivered webhooks are kept and can be listed; newer ones are sent all the same', async t => {
  let status = 500
  const { url, port, notifications } = await hookListener(t, () => status)
  const made = await stage(t, [port], 'attempts: 1')
  const { origin, bin } = await made.open()
  const id = await imagine(origin, url)
  await bin.until(/"msg":"notification given up"/)
  const show = async (...more: string[]) => await run(['tasks', 'show', id, ...more, '--file', made.file], { env: ENV })
  const { notification } = JSON.parse((await show('--json')).stdout)
  t.match(notification, { url, sequence: 1, attempts: 1, state: 'given up' })
  bin.child.kill('SIGTERM')
  await bin.ended
  t.match((await show()).stdout, /notification +\{.*"state":"given up"/, 'whether it runs or not')
  status = 204
  made.now = { status: 'SUCCESS', progress: '100%', imageUrl: '/1.png' }
  const second = await made.open()
  await second.bin.until(/"msg":"notification taken"/)
  t.same(notifications.items.map(sequenceOf), [1, 2], 'numbers continue after the restart')
})

t.test('F-X3 a notification that no one acknowledged outlives kill -9, under its number', async t => {
  let status: number | 'hang' = 'hang'
  const { url, port, notifications } = await hookListener(t, () => status)
  const { open } = await stage(t, [port], 'timeout: 500ms')
  const { origin, bin } = await open()
  await imagine(origin, url)
  await notifications.count(1)
  bin.child.kill('SIGKILL')
  await bin.ended
  status = 204
  const second = await open()
  await second.bin.until(/"msg":"notification taken"/)
  const [before, after] = [notifications.items[0], notifications.items.at(-1)] as [Notified, Notified]
  t.equal(after.headers['webhook-id'], before.headers['webhook-id'])
  t.equal(sequenceOf(after), 1)
  t.equal(after.body, before.body)
})
