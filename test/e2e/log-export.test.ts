import t, { type Test } from 'tap'
import { ADMIN_SECRET, adminLine } from '../helpers/admin.js'
import { CHAT_ANSWER, json } from '../helpers/answers.js'
import { CALLER, startTestGateway, type TestGateway, upstreamYaml } from '../helpers/gateway.js'
import { readMetrics } from '../helpers/metrics-text.js'
import { type OtlpReceiver, startOtlpReceiver } from '../helpers/otlp-receiver.js'
import { request } from '../helpers/raw-client.js'
import { type RawUpstream, startRawUpstream } from '../helpers/raw-upstream.js'
import { startHoldingUpstream, WorkingGateway, workersYaml } from '../helpers/workers.js'

/** Lines of the log go to a collector by OTLP, beside their place; a collector that is away costs lines there, and nothing else. */

interface Stage {
  readonly gateway: TestGateway
  readonly collector: OtlpReceiver
  readonly up: RawUpstream
  readonly yaml: (logs: string) => string
  readonly metric: (name: string) => Promise<number>
}

async function stage(t: Test): Promise<Stage> {
  const collector = await startOtlpReceiver(t)
  const up = await startRawUpstream(t)
  const { line, origin } = await adminLine()
  const yaml = (logs: string): string => `version: 1
${CALLER}
${line}
upstreams: { up: ${upstreamYaml(up.origin)}, other: ${upstreamYaml(up.origin)} }
models: { m: [{ upstream: other }, { upstream: up }] }
retry: { on: [500], wait: 1ms }
telemetry: { otlp: { endpoint: "${collector.origin}" }, logs: ${logs}, metrics: off, traces: off }
`
  const gateway = await startTestGateway(t, yaml('on'), { env: { GATEWAY_ADMIN_KEY: ADMIN_SECRET } })
  const metric = async (name: string): Promise<number> =>
    readMetrics((await request(t, origin, '/metrics', { key: ADMIN_SECRET })).text, false).sum(name)
  return { gateway, collector, up, yaml, metric }
}

t.test('a request is one record, with its trace, by the names of the conventions; attempts are nested', async t => {
  const { gateway, collector, up } = await stage(t)
  up.answer(json({ error: { message: 'broken' } }, { status: 500 }), json(CHAT_ANSWER))
  t.equal((await gateway.chat()).status, 200)
  const line = await gateway.log.find(({ msg }) => msg === 'request')
  const record = await collector.lines.find(({ message }) => message === 'request')
  t.match(record, {
    severity: 'SEVERITY_NUMBER_INFO',
    trace: line.trace,
    attributes: {
      'http.request.method': 'POST',
      'http.route': 'POST /v1/chat/completions',
      'http.response.status_code': 200,
      'gen_ai.request.model': 'm',
      'gateway.id': line.id,
      'gateway.key': 'caller',
      'gateway.attempts': [
        { upstream: 'other', phase: 'status', status: 500 },
        { upstream: 'up', phase: 'ok', status: 200 },
      ],
    },
    resource: { 'service.name': 'model-gateway' },
  })
  t.equal(Math.round(record.at), Date.parse(String(line.time)))
})

t.test(
  'a collector that is away costs lines there, which metrics count, and nothing else; a reload ends it',
  async t => {
    const { gateway, collector, up, yaml, metric } = await stage(t)
    collector.answer = { status: 400 }
    up.answer(json(CHAT_ANSWER), json(CHAT_ANSWER))
    t.equal((await gateway.chat()).status, 200)
    await gateway.log.find(({ msg }) => String(msg).startsWith('lines of the log cannot be sent'))
    t.ok((await metric('gateway_telemetry_log_lines_dropped_total')) > 0)
    t.ok((await metric('gateway_telemetry_exports_total')) > 0)
    t.equal(await metric('gateway_log_lines_lost_total'), 0)
    collector.answer = { status: 200 }
    await gateway.write('gateway.yaml', yaml('off'))
    await gateway.gateway.reload()
    t.equal((await gateway.chat()).status, 200)
    await gateway.log.count(2, ({ msg }) => msg === 'request')
    await gateway.gateway.close()
    t.notOk(
      collector.lines.items.some(({ message }) => message === 'request'),
      'refused lines are not sent again',
    )
  },
)

t.test('each worker sends its own lines, once; those of the supervisor stay at their place', async t => {
  const collector = await startOtlpReceiver(t)
  const up = await startHoldingUpstream(t)
  const telemetry = `telemetry: { otlp: { endpoint: "${collector.origin}" }, logs: on, metrics: off, traces: off }`
  const gateway = await WorkingGateway.start(t, workersYaml(up, telemetry))
  const answers = await gateway.occupy(up, 8)
  up.release()
  t.same([...new Set(await Promise.all(answers))], [200])
  const lines = await collector.lines.count(answers.length, ({ message }) => message === 'request')
  const idsOf = (number: number): unknown[] =>
    lines.filter(({ resource }) => resource['gateway.worker'] === number).map(line => line.attributes['gateway.id'])
  const [first, second] = [idsOf(1), idsOf(2)]
  t.ok(first.length > 0 && second.length > 0, 'both have sent some')
  t.equal(new Set([...first, ...second]).size, answers.length, 'each line once')
  t.equal(new Set(lines.map(({ resource }) => resource['service.instance.id'])).size, 2)
  const written = gateway.logged('request')
  t.same(new Set([...first, ...second]), new Set(written.map(({ id }) => id)), 'the same as at log.to')
  t.equal(gateway.logged('all workers serve').length, 1)
  t.notOk(collector.lines.items.some(({ message }) => message === 'all workers serve'))
})
