import { readFile } from 'node:fs/promises'
import t, { type Test } from 'tap'
import { ADMIN_SECRET, adminLine } from '../helpers/admin.js'
import { CHAT_ANSWER, json } from '../helpers/answers.js'
import { oneUpstream, startTestGateway, type TestGateway } from '../helpers/gateway.js'
import { inTime } from '../helpers/journal.js'
import { type MetricsPage, readMetrics } from '../helpers/metrics-text.js'
import { type OtlpReceiver, startOtlpReceiver } from '../helpers/otlp-receiver.js'
import { request } from '../helpers/raw-client.js'
import { startRawUpstream } from '../helpers/raw-upstream.js'
import { freePort } from '../helpers/store-servers.js'

/** A collector that is away, slow or refuses costs spans, never requests; metrics count what was lost. */

interface Stage {
  readonly gateway: TestGateway
  page(): Promise<MetricsPage>
}

async function stage(t: Test, endpoint: string, otlp = ''): Promise<Stage> {
  const upstream = await startRawUpstream(t)
  upstream.answer(json(CHAT_ANSWER))
  const { line, origin } = await adminLine(', metrics: open')
  const telemetry = `telemetry: { otlp: { endpoint: "${endpoint}"${otlp} }, traces: { sample: { rest: 1 } } }`
  const env = { GATEWAY_ADMIN_KEY: ADMIN_SECRET, OTLP_TOKEN: 'Bearer the-token-of-the-collector' }
  const gateway = await startTestGateway(t, oneUpstream(upstream.origin, `${telemetry}\n${line}\n`), { env })
  return { gateway, page: async () => readMetrics((await request(t, origin, '/metrics')).text, false) }
}

/** Until a metric has a value. */
async function until({ page }: Stage, name: string, labels: Record<string, string>, least: number): Promise<void> {
  let isOver = false
  const waiting = (async () => {
    while (!isOver && (await page()).sum(name, labels) < least) await new Promise(setImmediate)
  })()
  await inTime(waiting, () => `${name} did not come to ${least}`).finally(() => {
    isOver = true
  })
}

const servers = (collector: OtlpReceiver): number =>
  collector.spans.items.filter(({ kind }) => kind === 'SPAN_KIND_SERVER').length

t.test('headers are sent, and no answer but the path decides where', async t => {
  const collector = await startOtlpReceiver(t)
  const headers = ', headers: { Authorization: { env: OTLP_TOKEN }, x-team: models }'
  const { gateway } = await stage(t, `${collector.origin}/base/`, headers)
  await gateway.chat()
  const sent = await collector.requests.find(({ path }) => path === '/base/v1/traces')
  t.match(sent.headers, {
    authorization: 'Bearer the-token-of-the-collector',
    'x-team': 'models',
    'content-type': 'application/x-protobuf',
  })
  t.notOk(JSON.stringify(gateway.log.items).includes('the-token-of-the-collector'))
})

t.test('away at first: requests are served, and their spans are sent when it is there', async t => {
  const port = await freePort()
  const staged = await stage(t, `http://127.0.0.1:${port}`)
  for (let count = 0; count < 5; count++) t.equal((await staged.gateway.chat()).status, 200)
  await until(staged, 'gateway_telemetry_exports_total', { signal: 'traces', outcome: 'again' }, 1)
  t.match(await staged.gateway.log.find(({ msg }) => /^spans cannot be sent/.test(msg ?? '')), {
    cause: 'ECONNREFUSED',
  })
  const collector = await startOtlpReceiver(t, port)
  await collector.spans.count(5, ({ kind }) => kind === 'SPAN_KIND_SERVER')
  await staged.gateway.log.find(({ msg }) => msg === 'spans are sent again')
  t.equal((await staged.page()).sum('gateway_telemetry_spans_dropped_total'), 0)
})

t.test('503 with Retry-After: the same spans are sent again, each once in the end', async t => {
  const collector = await startOtlpReceiver(t)
  collector.answer = { status: 503, headers: { 'retry-after': '0' } }
  const staged = await stage(t, collector.origin)
  for (let count = 0; count < 3; count++) await staged.gateway.chat()
  await collector.requests.count(2)
  collector.answer = { status: 200 }
  await collector.spans.count(3, ({ kind }) => kind === 'SPAN_KIND_SERVER')
  const ids = collector.spans.items.map(({ id }) => id)
  t.equal(new Set(ids).size, ids.length)
})

t.test('what it refuses is dropped and counted, and later spans are sent', async t => {
  const collector = await startOtlpReceiver(t)
  collector.answer = { status: 400 }
  const staged = await stage(t, collector.origin)
  t.equal((await staged.gateway.chat()).status, 200)
  await until(staged, 'gateway_telemetry_spans_dropped_total', { reason: 'refused' }, 3)
  t.equal((await staged.page()).sum('gateway_telemetry_exports_total', { signal: 'traces', outcome: 'refused' }), 1)
  collector.answer = { status: 200 }
  await staged.gateway.chat()
  await collector.spans.count(3)
  t.equal(servers(collector), 1)
})

t.test('a part that it refuses is dropped and counted, and reported once', async t => {
  const collector = await startOtlpReceiver(t)
  collector.answer = { status: 200, body: Buffer.from([0x0a, 2, 0x08, 2]) }
  const staged = await stage(t, collector.origin)
  t.equal((await staged.gateway.chat()).status, 200)
  await until(staged, 'gateway_telemetry_spans_dropped_total', { reason: 'refused' }, 2)
  await staged.gateway.chat()
  await until(staged, 'gateway_telemetry_spans_dropped_total', { reason: 'refused' }, 4)
  t.equal((await staged.page()).sum('gateway_telemetry_spans_total', { outcome: 'ok' }), 2)
  const reports = staged.gateway.log.items.filter(({ msg }) => /^some spans are refused/.test(msg ?? ''))
  t.match(reports, [{ rejected: 2 }])
  t.equal(reports.length, 1)
})

t.test('one that never answers: requests are served, and the end of the process waits for a bounded time', async t => {
  const collector = await startOtlpReceiver(t)
  collector.answer = { status: 200, hangs: true }
  const { gateway } = await stage(t, collector.origin, ', timeout: 1h')
  for (let count = 0; count < 3; count++) t.equal((await gateway.chat()).status, 200)
  await collector.requests.count(1)
  t.equal((await gateway.chat()).status, 200)
  await inTime(gateway.gateway.close(), () => 'it does not end')
})

t.test('the end of the process sends what waits', async t => {
  const collector = await startOtlpReceiver(t)
  const { gateway } = await stage(t, collector.origin)
  for (let count = 0; count < 4; count++) await gateway.chat()
  await gateway.gateway.close()
  t.equal(servers(collector), 4)
})

t.test('a reload leads spans to another collector, and what the first one was to get it gets', async t => {
  const [first, second] = [await startOtlpReceiver(t), await startOtlpReceiver(t)]
  const { gateway } = await stage(t, first.origin)
  await gateway.chat()
  const text = await readFile(`${gateway.folder}/gateway.yaml`, 'utf8')
  await gateway.write('gateway.yaml', text.replace(first.origin, second.origin))
  await gateway.gateway.reload()
  await gateway.chat()
  await second.spans.find(({ kind }) => kind === 'SPAN_KIND_SERVER')
  await first.spans.find(({ kind }) => kind === 'SPAN_KIND_SERVER')
  t.same([servers(first), servers(second)], [1, 1])
})
