import t, { type Test } from 'tap'
import { CHAT_ANSWER, json } from '../../helpers/answers.js'
import { CHAT, startTestGateway, type TestGateway, upstreamYaml } from '../../helpers/gateway.js'
import { withResolvers } from '../../helpers/journal.js'
import { type RawUpstream, startRawUpstream } from '../../helpers/raw-upstream.js'

const KEYS = ['low', 'normal', 'high'] as const

async function start(test: Test, more: string): Promise<{ gateway: TestGateway; upstream: RawUpstream }> {
  const upstream = await startRawUpstream(test)
  upstream.answer(json(CHAT_ANSWER))
  const env = Object.fromEntries(KEYS.map(key => [key.toUpperCase(), secretOf(key)]))
  return { gateway: await startTestGateway(test, yamlOf(upstream, more), { env, watch: true }), upstream }
}

function yamlOf(upstream: RawUpstream, more: string): string {
  return `version: 1
keys:
  low: { secret: { env: LOW }, group: batch }
  normal: { secret: { env: NORMAL } }
  high: { secret: { env: HIGH }, group: batch, priority: high }
groups: { batch: { priority: low } }
upstreams:
  up: ${upstreamYaml(upstream.origin)}
models: { m: up }
${more}`
}

function secretOf(key: string): string {
  return `the-key-with-${key}-priority-0123456789`
}

/** A chat with the key of that priority. */
async function chat(gateway: TestGateway, key: string): ReturnType<TestGateway['chat']> {
  return gateway.chat(CHAT, { headers: { authorization: `Bearer ${secretOf(key)}` } })
}

/** Asks until the answer has the status. */
async function untilStatus(gateway: TestGateway, key: string, status: number): ReturnType<TestGateway['chat']> {
  for (;;) {
    const answer = await chat(gateway, key)
    if (answer.status === status) return answer
  }
}

t.test(
  'F-P8: while memory is short new requests get 503 and connections close, high priority and health are served',
  async t => {
    // More than 1 % of the largest heap that Node takes by itself.
    const ballast = Array.from({ length: 12_000_000 }, (_, index) => index + 0.5)
    const { gateway, upstream } = await start(t, 'overload: { memory: 1% }\n')
    const refused = await untilStatus(gateway, 'normal', 503)
    t.match(refused.json(), { error: { message: 'The gateway has too much to do. Try again soon.' } })
    t.ok(Number(refused.header('retry-after-ms') ?? Number(refused.header('retry-after')) * 1000) >= 1000)
    t.equal((await gateway.log.find(line => line.msg === 'request' && line.status === 503)).limit, 'overload')
    t.equal((await chat(gateway, 'low')).status, 503, 'the priority of its group holds for a key that says nothing')

    const asked = upstream.requests.items.length
    const served = await chat(gateway, 'high')
    t.equal(served.status, 200)
    t.equal(served.header('connection'), 'close')
    t.equal(upstream.requests.items.length, asked + 1, 'only what is served reaches the upstream')

    t.equal((await gateway.request('/livez')).status, 200)
    t.equal(
      (await gateway.request('/v1/models', { headers: { authorization: `Bearer ${secretOf('low')}` } })).status,
      200,
    )
    const said = await gateway.log.find(line => line.msg === 'overloaded: requests were refused')
    t.same(said.shed, { low: 1, normal: 1, high: 0 })
    t.equal(ballast.length, 12_000_000)

    await gateway.write('gateway.yaml', yamlOf(upstream, 'overload: off\n'))
    await gateway.log.find(line => line.msg === 'reloaded')
    t.equal((await chat(gateway, 'low')).status, 200, 'switched off by a reload')
  },
)

t.test('F-P9: while the event loop is late new requests get 503; they are served again when it is not', async t => {
  const { gateway } = await start(t, 'overload: { loop_delay: 1ms }\n')
  t.equal((await untilStatus(gateway, 'low', 200)).status, 200)
  const busy = keepBusy()
  t.equal((await untilStatus(gateway, 'high', 503)).status, 503, 'at this lateness all is shed')
  busy.stop()
  t.equal((await untilStatus(gateway, 'high', 200)).status, 200)
})

t.test('F-P7: the log says how long the event loop stood still', async t => {
  const { gateway } = await start(t, '')
  // The first look has been taken.
  await untilStatus(gateway, 'normal', 200)
  const end = performance.now() + 1500
  while (performance.now() < end);
  const line = await gateway.log.find(({ msg }) => msg === 'the event loop stood still')
  t.ok(Number(line.milliseconds) >= 1000)
  t.equal((await chat(gateway, 'normal')).status, 200, 'one stall sheds nothing')
})

t.test('F-P9: keys of low priority leave a fifth of the places in flight to the others', async t => {
  const { gateway, upstream } = await start(t, 'overload: { loop_delay: 24h }\nlimits: { in_flight: 10 }\n')
  const { promise: released, resolve: release } = withResolvers<void>()
  upstream.answer(async peer => {
    await released
    await json(CHAT_ANSWER)(peer)
  })
  const held = Array.from({ length: 8 }, async () => chat(gateway, 'normal'))
  await upstream.requests.count(8)
  const refused = await chat(gateway, 'low')
  t.equal(refused.status, 503)
  t.equal((await gateway.log.find(line => line.msg === 'request' && line.status === 503)).limit, 'in_flight')
  const high = chat(gateway, 'high')
  await upstream.requests.count(9)
  release()
  t.same(
    (await Promise.all([high, ...held])).map(answer => answer.status),
    Array.from({ length: 9 }, () => 200),
  )
  t.equal((await untilStatus(gateway, 'low', 200)).status, 200)
})

/** Longer than the bound of any priority, milliseconds. */
const BUSY_MS = 30

/** Keeps the event loop late until it is stopped. */
function keepBusy(): { stop(): void } {
  let stopped = false
  const work = (): void => {
    const end = performance.now() + BUSY_MS
    while (performance.now() < end);
    if (!stopped) setImmediate(work)
  }
  setImmediate(work)
  return {
    stop: () => {
      stopped = true
    },
  }
}
