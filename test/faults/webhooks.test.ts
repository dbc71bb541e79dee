import { createHmac } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { packageRoot } from '../../src/core/package-root.js'
import { type Bin, start } from '../cli/bin.js'
import { compatibleError } from '../helpers/expect.js'
import { startTestGateway } from '../helpers/gateway.js'
import { hookListener, type Notified } from '../helpers/hook-listener.js'
import { compatible, filmYaml, startTaskUpstream } from '../helpers/task-upstream.js'
import { SSRF_URLS } from '../net/ssrf-urls.js'

t.setTimeout(120_000)

const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
const KEY = 'the-key-of-the-caller-0123456789'

/** A gateway as a process that trusts the listener's certificate. */
async function gateway(
  t: Test,
  port: number,
  states: readonly object[],
  allow = '[localhost, 127.0.0.1]',
): Promise<{ origin: string; bin: Bin }> {
  const upstream = await startTaskUpstream(t, compatible(...states))
  const folder = mkdtempSync(join(tmpdir(), 'gateway-hooks-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'gateway.yaml')
  const yaml = filmYaml(
    upstream.origin,
    undefined,
    `webhooks: { secret: { env: HOOK_SECRET }, allow: ${allow}, ports: [${port}] }\nlisten: { port: 0 }\n`,
  )
  writeFileSync(file, yaml.replace('type: memory', 'type: file'))
  const NODE_EXTRA_CA_CERTS = join(packageRoot(), 'test/fixtures/tls/first.pem')
  const env = { CALLER_KEY: KEY, OTHER_KEY: `${KEY}9`, UPSTREAM_KEY: 'u', HOOK_SECRET: SECRET, NODE_EXTRA_CA_CERTS }
  const bin = start(t, ['serve', file], { env })
  const [, origin = ''] = await bin.until(/"address":"([^"]+)"/)
  return { origin, bin }
}

async function begin(origin: string, webhook_url: string): Promise<string> {
  const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' }
  const body = JSON.stringify({ model: 'film', prompt: 'A cat', webhook_url })
  const answer = await fetch(`${origin}/v1/videos`, { method: 'POST', headers, body })
  const text = await answer.text()
  if (answer.status !== 200) throw new Error(text)
  return (JSON.parse(text) as { id: string }).id
}

t.test('a webhook: signed, numbered, once, with the record', async t => {
  const { url, port, notifications } = await hookListener(t, () => 204)
  const { origin, bin } = await gateway(t, port, [{ status: 'running' }, { status: 'completed' }])
  const id = await begin(origin, url)
  const [{ headers, body }] = (await notifications.count(1)) as [Notified]
  const { type, timestamp, sequence, data } = JSON.parse(body)
  t.equal(type, 'video.completed')
  t.equal(sequence, 1)
  t.match(data, { id, task_id: id, status: 'completed', progress: 100 })
  t.ok(Math.abs(Date.parse(timestamp) - Date.now()) < 60_000)
  t.equal(headers['webhook-id'], `msg_${id}.1`)
  t.equal(headers['webhook-sequence'], '1')
  const signedText = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`
  const mac = createHmac('sha256', Buffer.from(SECRET.slice('whsec_'.length), 'base64'))
    .update(signedText)
    .digest('base64')
  t.equal(headers['webhook-signature'], `v1,${mac}`)
  t.equal(headers.authorization, undefined)
  await bin.until(/"msg":"notification taken"/)
  t.equal(notifications.items.length, 1)
})

t.test('F-X3 a webhook that fails is tried again, by the same id', async t => {
  const { url, port, notifications } = await hookListener(t, count => (count === 1 ? 500 : 200))
  const { origin, bin } = await gateway(t, port, [
    { status: 'failed', error: { code: 'no_cats', message: 'No cats.' } },
  ])
  await begin(origin, url)
  await bin.until(/"msg":"notification again"/)
  await notifications.count(2)
  const [first, second] = notifications.items
  t.equal(second?.headers['webhook-id'], first?.headers['webhook-id'])
  t.equal(second?.body, first?.body)
  t.match(JSON.parse(first?.body ?? ''), { type: 'video.failed', data: { error: { code: 'no_cats' } } })
  await bin.until(/"msg":"notification taken"/)
})

for (const [status, outcome] of [
  [200, 'taken'],
  [410, 'given up'],
] as const)
  t.test(`a receiver has said ${status} with the head of its answer, however much follows: ${outcome}`, async t => {
    const { url, port, notifications } = await hookListener(t, () => status, 200_000)
    const { origin, bin } = await gateway(t, port, [{ status: 'completed' }])
    await begin(origin, url)
    const [, said] = await bin.until(/"msg":"notification (taken|again|given up)"/)
    t.equal(said, outcome)
    t.equal(notifications.items.length, 1)
  })

t.test('F-X1 a webhook at a name that leads to an inner address is given up before anything connects', async t => {
  const { url, port, notifications } = await hookListener(t, () => 204)
  const { origin, bin } = await gateway(t, port, [{ status: 'completed' }], '["localhost"]')
  await begin(origin, url)
  const [line] = await bin.until(/[^\n]*"msg":"notification given up"[^\n]*/)
  t.match(line, /"blocked":"loopback address"/)
  t.equal(notifications.items.length, 0)
})

t.test('F-X1 addresses that no webhook may have are refused when they are given', async t => {
  const upstream = await startTaskUpstream(t, compatible({ status: 'completed' }))
  const yaml = filmYaml(upstream.origin, undefined, 'webhooks: { secret: { env: HOOK_SECRET } }\n')
  const gateway = await startTestGateway(t, yaml, { env: { OTHER_KEY: `${KEY}9`, HOOK_SECRET: SECRET } })
  const urls = [
    ...SSRF_URLS.map(spell => spell(443).replace(/^http:/, 'https:')),
    'http://example.com/',
    'ftp://example.com/',
    'https://',
    'x',
    7,
  ]
  t.ok(urls.length > 150)
  let refusedAtOnce = 0
  for (const webhook_url of urls) {
    const answer = await gateway.request('/v1/videos', { body: { model: 'film', prompt: 'A cat', webhook_url } })
    // What a name leads to is looked at when it is called; all else at once.
    if (answer.status === 400) refusedAtOnce++
    else t.equal(answer.status, 200, String(webhook_url))
  }
  t.ok(refusedAtOnce > 120, `${refusedAtOnce} of ${urls.length}`)
  await gateway.gateway.close()
  const given = gateway.log.items.filter(line => String(line.msg).startsWith('notification '))
  t.ok(
    given.every(line => typeof line.blocked === 'string'),
    'nothing was called',
  )
})

t.test('without webhooks nothing is sent, and requests for one are refused', async t => {
  const upstream = await startTaskUpstream(t, compatible({ status: 'completed' }))
  const gateway = await startTestGateway(t, filmYaml(upstream.origin), { env: { OTHER_KEY: `${KEY}9` } })
  const body = { model: 'film', prompt: 'A cat', webhook_url: 'https://example.com/hook' }
  const answer = await gateway.request('/v1/videos', { body })
  t.equal(compatibleError(t, answer, 400).param, 'webhook_url')
  t.equal(upstream.requests.items.length, 0)
})

/** A gateway that may notify any address, and a task with a notification for that address. */
async function toBeTold(t: Test, webhook_url: string) {
  let done = false
  const upstream = await startTaskUpstream(t, (request, self) =>
    compatible(done ? { status: 'completed' } : { status: 'running' })(request, self),
  )
  const yaml = filmYaml(upstream.origin, undefined, 'webhooks: { secret: { env: HOOK_SECRET } }\n')
  const gateway = await startTestGateway(t, yaml, { env: { OTHER_KEY: `${KEY}9`, HOOK_SECRET: SECRET } })
  const answer = await gateway.request('/v1/videos', { body: { model: 'film', prompt: 'A cat', webhook_url } })
  t.equal(answer.status, 200)
  return {
    gateway,
    upstream,
    end: () => {
      done = true
    },
    outcome: () => gateway.log.find(line => String(line.msg).startsWith('notification ')),
  }
}

t.test('F-X3 a webhook at a name without an address is tried again: it may have one later', async t => {
  const { end, outcome } = await toBeTold(t, 'https://hooks.invalid/')
  end()
  t.match(await outcome(), { msg: 'notification again', attempt: 1 })
})

t.test('F-X3 a notification outlives a configuration without webhooks', async t => {
  const { gateway, upstream, end, outcome } = await toBeTold(t, 'https://hooks.invalid/')
  await gateway.write('gateway.yaml', filmYaml(upstream.origin))
  await gateway.gateway.reload()
  end()
  t.match(await outcome(), { msg: 'notification again', attempt: 0, blocked: 'webhooks are not enabled' })
})
