import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { startGateway } from '../../src/runtime/gateway.js'
import { brokenStream, CHAT_ANSWER, chatEvent, chunk, DONE, hang, json, LAST_CHUNK } from '../helpers/answers.js'
import { proveNoLeak } from '../helpers/canaries.js'
import { eventsOf } from '../helpers/expect.js'
import { CHAT, oneUpstream, startTestGateway, type TestGateway } from '../helpers/gateway.js'
import { withResolvers } from '../helpers/journal.js'
import { connectRaw, requestBytes } from '../helpers/raw-client.js'
import { type RawUpstream, type Script, startRawUpstream } from '../helpers/raw-upstream.js'
import { receiptsIn, verifyFolder } from '../helpers/receipts.js'

async function playing(t: Test, script: Script, more = ''): Promise<{ gateway: TestGateway; upstream: RawUpstream }> {
  const upstream = await startRawUpstream(t)
  upstream.answer(script)
  return { upstream, gateway: await startTestGateway(t, oneUpstream(upstream.origin, more)) }
}

const STREAM = { body: { ...CHAT, stream: true } }
const PATH = '/v1/chat/completions'

t.test('F-P1 a drain lets a stream finish, and then ends', async t => {
  const { promise: held, resolve: release } = withResolvers<void>()
  const { gateway } = await playing(t, async peer => {
    await brokenStream([chatEvent('a')], () => held)(peer)
    await peer.send(chunk(DONE))
    await peer.send(LAST_CHUNK)
  })
  const client = await gateway.open(PATH, STREAM)
  const head = await client.head()
  const closing = gateway.gateway.close()
  release()
  const { body, whole } = await client.body(head)
  t.equal(body.toString(), chatEvent('a') + DONE)
  t.equal(whole, true)
  await closing
  await gateway.gateway.closed
  t.match(await gateway.log.find(line => line.msg === 'drained'), { drained: 1, cut: 0 })
})

t.test('F-P1 while it drains, /readyz on an open connection says 503', async t => {
  const { promise: held, resolve: release } = withResolvers<void>()
  const { gateway } = await playing(t, async peer => {
    await held
    await json(CHAT_ANSWER)(peer)
  })
  const probe = await gateway.open('/readyz')
  t.equal((await probe.answer()).status, 200)
  const client = await gateway.open(PATH, { body: CHAT })
  const early = await gateway.open('/livez')
  t.equal((await early.answer()).status, 200)
  const closing = gateway.gateway.close()
  await probe.send(requestBytes(gateway.origin, '/readyz')).catch(() => undefined)
  const answer = await probe.answer().catch(() => undefined)
  if (answer !== undefined) t.match(answer, { status: 503 })
  release()
  const last = await client.answer()
  t.equal(last.status, 200)
  await closing
})

t.test('F-P1 with a delay, /readyz says 503 while new connections are served as ever', async t => {
  const { gateway } = await playing(t, json(CHAT_ANSWER), 'limits: { drain_delay: 24h }\n')
  const closing = gateway.gateway.close()
  const probe = await gateway.open('/readyz')
  t.match(await probe.answer(), { status: 503 })
  const client = await gateway.open(PATH, { body: CHAT })
  t.equal((await client.answer()).status, 200)
  await gateway.gateway.closeNow()
  await closing
})

t.test('F-P1 when the delay is over it drains', async t => {
  const { gateway } = await playing(t, json(CHAT_ANSWER), 'limits: { drain_delay: 1ms }\n')
  await gateway.gateway.close()
  t.match(await gateway.log.find(line => line.msg === 'drained'), { drained: 0, cut: 0 })
})

t.test('F-P1 what does not finish within the grace period gets an error event, and no good end', async t => {
  const { gateway, upstream } = await playing(t, brokenStream([chatEvent('a')], hang), 'limits: { drain: 300ms }\n')
  const client = await gateway.open(PATH, STREAM)
  const head = await client.head()
  await gateway.gateway.close()
  const { body } = await client.body(head)
  const last = eventsOf(body.toString()).at(-1)
  t.match(JSON.parse(last?.data ?? '{}'), { error: { code: 'unavailable' } })
  t.notMatch(body.toString(), /\[DONE\]/)
  await upstream.aborts.count(1)
  t.match(await gateway.log.find(line => line.msg === 'request'), { outcome: 'gateway_error', phase: 'drain' })
  t.match(await gateway.log.find(line => line.msg === 'drained'), { drained: 0, cut: 1 })
})

t.test('F-P1 a JSON answer that does not finish within the grace period is 503, or a broken transfer', async t => {
  const { gateway, upstream } = await playing(t, hang, 'limits: { drain: 300ms }\n')
  const client = await gateway.open(PATH, { body: CHAT })
  await upstream.requests.count(1)
  await gateway.gateway.close()
  const answer = await client.answer().catch(() => undefined)
  if (answer !== undefined) t.match(answer, { status: 503 })
  await upstream.aborts.count(1)
})

t.test('F-P1 a stream is cut, and the next request on its connection is refused', async t => {
  const { gateway } = await playing(t, brokenStream([chatEvent('a')], hang), 'limits: { drain: 500ms }\n')
  const client = await gateway.open(PATH, STREAM)
  const head = await client.head()
  const closing = gateway.gateway.close()
  const { body } = await client.body(head)
  t.match(body.toString(), /unavailable/)
  await client.send(requestBytes(gateway.origin, PATH, { body: STREAM.body, key: gateway.key }))
  const next = await client.answer().catch(() => undefined)
  if (next !== undefined) t.match(next.text, /unavailable/)
  await closing
  t.match(await gateway.log.find(line => line.msg === 'drained'), { drained: 0 })
})

t.test('F-P1 a client that reads nothing does not hold the drain', async t => {
  const much = chatEvent('a'.repeat(64 * 1024))
  const { gateway } = await playing(t, brokenStream(new Array(400).fill(much), hang), 'limits: { drain: 300ms }\n')
  const client = await gateway.open(PATH, STREAM)
  await client.head()
  client.socket.pause()
  await gateway.gateway.close()
  t.match(await gateway.log.find(line => line.msg === 'drained'), { drained: 0, cut: 1 })
})

t.test('F-P1 an idle kept-alive connection does not hold the drain', async t => {
  const { gateway } = await playing(t, json(CHAT_ANSWER))
  const client = await gateway.open(PATH, { body: CHAT })
  t.equal((await client.answer()).status, 200)
  await gateway.gateway.close()
  await client.closed()
})

t.test('F-P1 a connection that was opened just before the drain has its first request answered', async t => {
  const { gateway } = await playing(t, json(CHAT_ANSWER))
  const client = await connectRaw(t, gateway.origin)
  // The gateway has accepted the first connection, too, when it answers the second.
  t.equal((await gateway.request('/livez')).status, 200)
  const closing = gateway.gateway.close()
  await client.send(requestBytes(gateway.origin, PATH, { body: CHAT, key: gateway.key }))
  const answer = await client.answer()
  t.equal(answer.status, 200)
  t.equal(answer.header('connection'), 'close')
  await client.closed()
  await closing
})

t.test('F-P2 a second signal ends at once, live streams included', async t => {
  const { gateway, upstream } = await playing(t, brokenStream([chatEvent('a')], hang))
  const client = await gateway.open(PATH, STREAM)
  const head = await client.head()
  const closing = gateway.gateway.close()
  await gateway.gateway.closeNow()
  await gateway.gateway.closed
  const { body } = await client.body(head)
  t.notMatch(body.toString(), /\[DONE\]/)
  await upstream.aborts.count(1)
  await closing
})

t.test('F-P2 a second signal: each request that it cuts has one line and one receipt', async t => {
  const folder = t.testdir({})
  const { gateway, upstream } = await playing(t, hang, `receipts: { to: ${folder} }\n`)
  const clients = await Promise.all([1, 2, 3].map(() => gateway.open(PATH, STREAM)))
  await upstream.requests.count(clients.length)
  const closing = gateway.gateway.close()
  await gateway.gateway.closeNow()
  await closing
  const ids = (await gateway.log.count(clients.length, line => line.msg === 'request')).map(({ id }) => id)
  t.same(
    receiptsIn(folder)
      .map(({ id }) => id)
      .toSorted(),
    ids.toSorted(),
  )
  t.same((await verifyFolder(folder)).faults, [])
})

t.test('F-P3 a port in use is reported in one line', async t => {
  const other = createServer().listen(0, '127.0.0.1')
  t.teardown(() => other.close())
  await once(other, 'listening')
  const { port } = other.address() as AddressInfo
  const { gateway } = await playing(t, json(CHAT_ANSWER))
  const start = startGateway({
    file: `${gateway.folder}/gateway.yaml`,
    env: { CALLER_KEY: 'k'.repeat(20), UPSTREAM_KEY: 'u' },
    overrides: { host: '127.0.0.1', port },
    watch: false,
  })
  await t.rejects(start, { message: new RegExp(`^127\\.0\\.0\\.1:${port} is in use.*$`) })
})

t.test('F-P3 an invalid certificate is reported before anything listens', async t => {
  const { gateway, upstream } = await playing(t, json(CHAT_ANSWER))
  await gateway.write('bad.pem', 'not a certificate')
  await gateway.write(
    'gateway.yaml',
    oneUpstream(upstream.origin, 'listen: { tls: { cert: bad.pem, key: bad.pem } }\n'),
  )
  const start = startGateway({
    file: `${gateway.folder}/gateway.yaml`,
    env: { CALLER_KEY: 'k'.repeat(20), UPSTREAM_KEY: 'u' },
    overrides: { host: '127.0.0.1', port: 0 },
    watch: false,
  })
  await t.rejects(start, { message: /.+/ })
})

proveNoLeak(t)
