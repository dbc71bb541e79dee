import t from 'tap'
import { atOnce } from '../../../src/core/steps.js'
import { allOf, CountedFamilies, stateFamilies } from '../../../src/features/metrics/families.js'
import { requestsOf } from '../../../src/features/metrics/otlp.js'
import { otlpName, otlpUnit } from '../../../src/features/metrics/otlp-names.js'
import { REQUEST_METRICS } from '../../../src/features/metrics/request-list.js'
import type { MetricSpec } from '../../../src/features/metrics/spec.js'
import { EVENT_METRICS, STATE_METRICS } from '../../../src/features/metrics/state-list.js'
import { exportRequest } from '../../../src/features/otlp/sender.js'
import { OtlpReceiver, type ReceivedMetric } from '../../helpers/otlp-receiver.js'
import { fc } from '../../helpers/property.js'

/** What the official protobuf reads of metrics that were written for a collector. */

const SPECS: readonly MetricSpec[] = [REQUEST_METRICS, EVENT_METRICS, STATE_METRICS].flatMap(list =>
  Object.values(list),
)
const SUFFIXES: Readonly<Record<string, string>> = { s: '_seconds', By: '_bytes' }

/** As the compatibility rules of OpenTelemetry write a name for Prometheus. */
function prometheusName(spec: MetricSpec): string {
  const unit = otlpUnit(spec) ?? ''
  const suffix = unit === '1' && spec.kind === 'gauge' ? '_ratio' : (SUFFIXES[unit] ?? '')
  return `${otlpName(spec).replaceAll('.', '_')}${suffix}${spec.kind === 'counter' ? '_total' : ''}`
}

function read(requests: readonly Uint8Array[]): readonly ReceivedMetric[] {
  const receiver = new OtlpReceiver()
  for (const fields of requests)
    receiver.receive('/v1/metrics', Buffer.concat(exportRequest(new Uint8Array(), [fields])))
  return receiver.metrics.items.flat()
}

t.test(
  'names are those of the conventions, and a collector that writes for Prometheus gives those of /metrics',
  async t => {
    for (const spec of SPECS) t.equal(prometheusName(spec), spec.name)
    t.equal(new Set(SPECS.map(otlpName)).size, SPECS.length)
    const names = SPECS.map(otlpName).filter(name => !name.startsWith('gateway.'))
    t.same(names, [
      ...['http.server.request.duration', 'http.client.request.duration', 'gen_ai.client.operation.duration'],
      ...['gen_ai.client.token.usage', 'gen_ai.server.time_to_first_token', 'gen_ai.server.time_per_output_token'],
      ...['process.memory.usage', 'v8js.memory.heap.used', 'process.cpu.time', 'process.uptime'],
      ...['nodejs.eventloop.delay.p99', 'nodejs.eventloop.delay.max', 'nodejs.eventloop.utilization'],
    ])
  },
)

t.test('each kind has its points, with its bounds, sums and beginning', async t => {
  const { requests, events } = new CountedFamilies()
  const states = stateFamilies()
  requests.serverDuration.of('POST', '/v1/x', '200').observe(0.003)
  requests.serverDuration.of('POST', '/v1/x', '200').observe(9999)
  events.spansDropped.of('refused').add(2 ** 40)
  states.generation.of().add(7)
  const [since, now] = [1_700_000_000_000, 1_700_000_060_000.25]
  const found = read(atOnce(requestsOf(allOf(requests, events, states), { since, now })))
  t.same(
    found.map(({ name, kind, unit }) => [name, kind, unit]),
    [
      ['http.server.request.duration', 'histogram', 's'],
      ['gateway.telemetry_spans_dropped', 'sum', ''],
      ['gateway.config_generation', 'gauge', ''],
    ],
  )
  const [histogram, sum, gauge] = found
  const [point] = histogram?.points ?? []
  t.match(point, {
    attributes: { 'http.request.method': 'POST', 'http.route': '/v1/x', 'http.response.status_code': 200 },
    ...{ started: since, count: 2, sum: 9999.003 },
  })
  t.same(point?.bounds, REQUEST_METRICS.serverDuration.buckets)
  t.same(
    point?.buckets,
    [...REQUEST_METRICS.serverDuration.buckets, Infinity].map(bound => (bound === 0.005 || bound === Infinity ? 1 : 0)),
  )
  t.match(sum, {
    isCumulative: true,
    isMonotonic: true,
    points: [{ value: 2 ** 40, attributes: { reason: 'refused' } }],
  })
  t.match(gauge, { points: [{ value: 7, attributes: {} }] })
  t.equal(histogram?.isCumulative, true)
})

t.test('however many series there are: each is sent once, and no request is large', async t => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 0, max: 3000 }),
      fc.double({ min: 0, max: 1e15, noNaN: true }),
      async (count, amount) => {
        const { requests } = new CountedFamilies()
        const { operationDuration, keyCost } = requests
        for (let at = 0; at < count; at++) {
          operationDuration.of('chat', 'x', `model ${at % 1999}`, 'é'.repeat(200), String(at)).observe(1)
          keyCost.of(`key ${at}`).add(amount)
        }
        const sent = atOnce(requestsOf(allOf(requests), { since: 0, now: 1 }))
        for (const { length } of sent) t.ok(length < 700_000, `${length} bytes`)
        const found = read(sent)
        const pointsOf = (name: string): ReceivedMetric['points'] =>
          found.filter(one => one.name === name).flatMap(({ points }) => points)
        t.equal(pointsOf('gen_ai.client.operation.duration').length, [...operationDuration.series].length)
        const costs = pointsOf(otlpName(keyCost.spec))
        t.equal(new Set(costs.map(({ attributes }) => attributes.key)).size, count)
        t.ok(costs.every(({ value }) => value === amount))
      },
    ),
    { numRuns: 20 },
  )
})
