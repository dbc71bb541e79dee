import { readFile } from 'node:fs/promises'
import t, { type Test } from 'tap'
import { CHAT_ANSWER, json } from '../helpers/answers.js'
import { oneUpstream, startTestGateway, type TestGateway } from '../helpers/gateway.js'
import { inTime } from '../helpers/journal.js'
import { type OtlpReceiver, type ReceivedPoint, startOtlpReceiver } from '../helpers/otlp-receiver.js'
import { startRawUpstream } from '../helpers/raw-upstream.js'
import { freePort } from '../helpers/store-servers.js'
import { startHoldingUpstream, until, WorkingGateway, workersYaml } from '../helpers/workers.js'

/** Metrics that a gateway sends to a collector by itself, as the official protobuf reads them. */

async function start(t: Test, endpoint: string, interval: string, more = ''): Promise<TestGateway> {
  const upstream = await startRawUpstream(t)
  upstream.answer(json(CHAT_ANSWER))
  const telemetry = `telemetry: { otlp: { endpoint: "${endpoint}", interval: ${interval}, headers: { x-team: models } }, traces: off${more} }`
  return startTestGateway(t, oneUpstream(upstream.origin, `${telemetry}\n`))
}

/** The last points that were sent of a metric. */
function last(collector: OtlpReceiver, name: string): readonly ReceivedPoint[] {
  const sent = collector.metrics.items.findLast(metrics => metrics.some(one => one.name === name)) ?? []
  return sent.filter(one => one.name === name).flatMap(({ points }) => points)
}

const served = (collector: OtlpReceiver): number =>
  last(collector, 'http.server.request.duration').reduce((sum, { count = 0 }) => sum + count, 0)

t.test('without an admin listener: what requests were, sent at the end of the process too', async t => {
  const collector = await startOtlpReceiver(t)
  const before = Date.now()
  const { gateway, chat } = await start(t, collector.origin, '1h')
  for (let count = 0; count < 3; count++) t.equal((await chat()).status, 200)
  t.equal(collector.requests.items.length, 0, 'not before its time')
  await gateway.close()
  t.equal(served(collector), 3)
  const [point] = last(collector, 'http.server.request.duration')
  t.match(point?.attributes, {
    'http.request.method': 'POST',
    'http.route': '/v1/chat/completions',
    'http.response.status_code': 200,
  })
  t.ok((point?.started ?? 0) > 0 && (point?.started ?? 0) <= Date.now() && before > 0)
  const tokens = last(collector, 'gen_ai.client.token.usage')
  t.same(tokens.map(({ attributes }) => attributes['gen_ai.token.type']).toSorted(), ['input', 'output'])
  t.ok(tokens.every(({ count }) => count === 3))
  t.match(last(collector, 'gateway.config_info'), [{ attributes: { digest: /^[0-9a-f]{16}$/ }, value: 1 }])
  const [request] = collector.requests.items
  t.match(request, { path: '/v1/metrics', headers: { 'x-team': 'models', 'content-type': 'application/x-protobuf' } })
})

t.test('again and again; a collector that is away costs pushes, and is reported once', async t => {
  const port = await freePort()
  const { chat, log } = await start(t, `http://127.0.0.1:${port}`, '20ms')
  t.equal((await chat()).status, 200)
  const failure = await log.find(({ msg }) => /^metrics cannot be sent/.test(msg ?? ''))
  t.match(failure, { level: 'warn', cause: 'ECONNREFUSED' })
  const collector = await startOtlpReceiver(t, port)
  t.match(await log.find(({ msg }) => msg === 'metrics are sent again'), { level: 'info' })
  t.equal((await chat()).status, 200)
  await collector.metrics.find(() => served(collector) === 2)
  const exports = last(collector, 'gateway.telemetry_exports')
  const failed = exports.find(({ attributes }) => attributes.outcome === 'again')
  t.match(failed, { attributes: { signal: 'metrics' } })
  t.ok((failed?.value ?? 0) >= 1)
  t.equal(log.items.filter(({ msg }) => /^metrics cannot be sent/.test(msg ?? '')).length, 1)
})

t.test('one that never answers: requests are served, and the end of the process waits for a bounded time', async t => {
  const collector = await startOtlpReceiver(t)
  collector.answer = { status: 200, hangs: true }
  const { gateway, chat } = await start(t, collector.origin, '20ms')
  await collector.requests.count(1)
  t.equal((await chat()).status, 200)
  await inTime(gateway.close(), () => 'it does not end')
})

t.test('metrics: off sends none, and a reload switches them on', async t => {
  const collector = await startOtlpReceiver(t)
  const { chat, folder, gateway, write } = await start(t, collector.origin, '20ms', ', metrics: off')
  t.equal((await chat()).status, 200)
  const text = await readFile(`${folder}/gateway.yaml`, 'utf8')
  await write('gateway.yaml', text.replace('metrics: off', 'metrics: on'))
  t.equal(collector.requests.items.length, 0)
  await gateway.reload()
  t.equal((await chat()).status, 200)
  await collector.metrics.find(() => served(collector) === 1)
})

t.test('of several workers one sends what all have counted, and another one after it has ended', async t => {
  t.setTimeout(120_000)
  const collector = await startOtlpReceiver(t)
  const upstream = await startHoldingUpstream(t)
  const telemetry = `telemetry: { otlp: { endpoint: "${collector.origin}", interval: 50ms }, traces: off }\n`
  const gateway = await WorkingGateway.start(t, `${workersYaml(upstream)}\n${telemetry}`)
  const answers = await gateway.occupy(upstream, 40)
  upstream.release()
  await Promise.all(answers)
  await until(async () => served(collector) === answers.length)
  const [point] = last(collector, 'http.server.request.duration')
  const [first] = (await gateway.workers()).toSorted((one, other) => one.number - other.number)
  process.kill(first?.pid ?? 0, 'SIGKILL')
  const sent = collector.metrics.items.length
  await until(async () => collector.metrics.items.length > sent + 3)
  t.equal(served(collector), answers.length, 'the sums do not go back')
  t.equal(
    last(collector, 'http.server.request.duration')[0]?.started,
    point?.started,
    'nor does their beginning change',
  )
})
