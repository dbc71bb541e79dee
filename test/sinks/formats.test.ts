import t from 'tap'
import type { RequestEntry } from '../../src/core/entry.js'
import type { LogRecord } from '../../src/core/log-record.js'
import { ecsFormat } from '../../src/sinks/ecs-format.js'
import { jsonFormat } from '../../src/sinks/json-format.js'
import { otelFormat } from '../../src/sinks/otel-format.js'
import { goodFields, requestFields } from '../../src/sinks/request-fields.js'
import { commonParts, goodLine, requestLine } from '../../src/sinks/request-line.js'
import { textFormat } from '../../src/sinks/text-format.js'
import { fc } from '../helpers/property.js'

const TRACE = '0af7651916cd43dd8448eb211c80319c'

const ENTRY: RequestEntry = {
  id: 'id-1',
  trace: TRACE,
  method: 'POST',
  route: 'POST /v1/chat/completions',
  client: '192.0.2.7',
  key: 'caller',
  model: 'm',
  upstream: 'b',
  status: 502,
  outcome: 'upstream_error',
  stream: true,
  error: 'upstream_failed',
  cause: 'status 503: no room',
  phase: 'status',
  limit: undefined,
  attempts: [
    { upstream: 'a', model: 'm-1', phase: 'connect', status: undefined, milliseconds: 1, cause: 'ECONNREFUSED' },
    { upstream: 'b', model: 'm-2', phase: 'status', status: 503, milliseconds: 2.5 },
  ],
  milliseconds: { first: 4.25, total: 5.5 },
  bytes: { in: 10, out: 20 },
  events: 3,
  trailing: 0,
  truncated: false,
  early: false,
  usage: { input: 3, output: 1, total: 4 },
  cost: 1250,
  closed: undefined,
  dropped: ['seed'],
  blocked: undefined,
  generation: 2,
}
const AT = Date.UTC(2026, 0, 2, 3, 4, 5, 678)
const RECORD: LogRecord = { severity: 'warn', at: AT, message: 'request', fields: requestFields(ENTRY), worker: 2 }
const EVENT: LogRecord = {
  severity: 'error',
  at: AT,
  message: 'listener failed',
  fields: { error: 'x' },
  worker: undefined,
}

const parsed = (line: string): Record<string, unknown> => {
  t.match(line, /^\{[^\n]*\}\n$/, 'one line')
  return JSON.parse(line)
}

/** Without what is not there, as JSON has it. */
const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

t.test('the fields of other formats are those of the JSON line', async t => {
  const { level, time, msg, ...fields } = parsed(requestLine(ENTRY, 'warn', 'now'))
  t.same([level, time, msg], ['warn', 'now', 'request'])
  t.strictSame(plain(requestFields(ENTRY)), fields)
  t.strictSame(Object.keys(plain(requestFields(ENTRY)) as object), Object.keys(fields), 'in the same order')
  t.equal(fields.cost_usd, 0.00125)
})

t.test('so are those of a good request, for any names and numbers', async t => {
  const maybe = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => fc.option(value, { nil: undefined })
  fc.assert(
    fc.property(
      fc.record({
        key: maybe(fc.string()),
        model: maybe(fc.string({ unit: 'binary' })),
        client: maybe(fc.string()),
        stream: fc.boolean(),
        firstByte: maybe(fc.double({ min: 1, max: 1e6, noNaN: true })),
        cost: maybe(fc.nat(1e9)),
        input: maybe(fc.nat()),
      }),
      ({ key, model, client, stream, firstByte, cost, input }) => {
        const parts = commonParts({ method: 'POST', route: 'POST /x', key, model, upstream: 'u', target: 'm-1' })
        const usage = input === undefined ? undefined : { input }
        const tally = { firstByte, bytesIn: 1, bytesOut: 2, events: 3 }
        const request = {
          id: 'i',
          trace: { id: '0af7651916cd43dd8448eb211c80319c' },
          client,
          status: 200,
          stream,
          started: 1,
          ended: 1e6,
          tally,
          usage,
          generation: { number: 4 },
        }
        const { level: _, time: __, msg: ___, ...fields } = JSON.parse(goodLine(request, parts, 'now', cost))
        t.strictSame(plain(goodFields(request, parts, cost)), fields)
      },
    ),
  )
})

t.test('JSON: the worker is first, the time is in UTC', async t => {
  t.match(
    jsonFormat(RECORD),
    /^\{"worker":2,"level":"warn","time":"2026-01-02T03:04:05\.678Z","msg":"request","id":"id-1"/,
  )
  t.same(parsed(jsonFormat(EVENT)), {
    level: 'error',
    time: '2026-01-02T03:04:05.678Z',
    msg: 'listener failed',
    error: 'x',
  })
})

/** Fields of ECS 8 that a line may have: name by name as its reference has them. */
const ECS_FIELDS = new Set([
  ...['@timestamp', 'message', 'log.level', 'ecs.version', 'service.name', 'event.dataset', 'event.outcome'],
  ...[
    'event.duration',
    'http.request.id',
    'http.request.method',
    'http.request.body.bytes',
    'http.response.body.bytes',
  ],
  ...[
    'http.response.status_code',
    'url.path',
    'client.address',
    'trace.id',
    'error.code',
    'error.message',
    'process.pid',
  ],
])

t.test(
  'ECS: the names of the schema, our own below gateway, the first three in the order of its specification',
  async t => {
    const line = parsed(ecsFormat(RECORD))
    t.same(Object.keys(line).slice(0, 3), ['@timestamp', 'log.level', 'message'])
    for (const name of Object.keys(line)) t.ok(ECS_FIELDS.has(name) || name.startsWith('gateway.'), name)
    t.match(line, {
      '@timestamp': '2026-01-02T03:04:05.678Z',
      'log.level': 'warn',
      'ecs.version': /^8\.\d+\.\d+$/,
      'http.request.id': 'id-1',
      'http.request.method': 'POST',
      'http.response.status_code': 502,
      'trace.id': TRACE,
      'client.address': '192.0.2.7',
      'error.code': 'upstream_failed',
      'error.message': 'status 503: no room',
      'event.outcome': 'failure',
      'event.duration': 5_500_000,
      'gateway.model': 'm',
      'gateway.input_tokens': 3,
      'gateway.worker': 2,
    })
    t.match(parsed(ecsFormat(EVENT)), { message: 'listener failed', 'event.dataset': 'gateway.process' })
  },
)

interface Attribute {
  readonly key: string
  readonly value: object
}

t.test('OTel: a LogsData of OTLP with one record, by the names of the conventions', async t => {
  const { resourceLogs } = parsed(otelFormat(RECORD)) as {
    resourceLogs: { resource: { attributes: Attribute[] }; scopeLogs: { logRecords: Record<string, unknown>[] }[] }[]
  }
  t.equal(resourceLogs.length, 1)
  const [{ resource, scopeLogs } = { resource: { attributes: [] }, scopeLogs: [] }] = resourceLogs
  t.same(resource.attributes[0], { key: 'service.name', value: { stringValue: 'gateway' } })
  const record = scopeLogs[0]?.logRecords[0] ?? {}
  t.match(record, {
    timeUnixNano: '1767323045678000000',
    severityNumber: 13,
    severityText: 'WARN',
    body: { stringValue: 'request' },
    traceId: TRACE,
  })
  const attributes = new Map((record.attributes as Attribute[]).map(({ key, value }) => [key, value]))
  t.same(attributes.get('http.request.method'), { stringValue: 'POST' })
  t.same(attributes.get('http.response.status_code'), { intValue: '502' }, '64 bits are a string')
  t.same(attributes.get('http.route'), { stringValue: 'POST /v1/chat/completions' })
  t.same(attributes.get('gen_ai.request.model'), { stringValue: 'm' })
  t.same(attributes.get('gen_ai.usage.input_tokens'), { intValue: '3' })
  t.same(attributes.get('gateway.total_ms'), { doubleValue: 5.5 })
  t.same(attributes.get('gateway.stream'), { boolValue: true })
  t.same(attributes.get('gateway.dropped'), { arrayValue: { values: [{ stringValue: 'seed' }] } })
  t.notOk(attributes.has('trace') || attributes.has('gateway.trace'))
})

t.test('text: one line that a person reads', async t => {
  const line = textFormat(false)(RECORD)
  t.match(
    line,
    /^\d\d:\d\d:05\.678 w2 502 POST m → b\/m-2 3\+1 tokens 0\.00125 USD 5\.5 ms first 4\.3 ms 2 attempts upstream_failed status 503: no room key=caller trace=0af\w+ id=id-1\n$/,
  )
  t.match(textFormat(false)(EVENT), /^\d\d:\d\d:05\.678 ERROR listener failed error=x\n$/)
  t.notMatch(line, '\x1b')
  const coloured = textFormat(true)(RECORD)
  t.match(coloured, '\x1b[31m502\x1b[0m')
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
  t.equal(coloured.replace(/\x1b\[\d+m/g, ''), line, 'colours add nothing else')
})

t.test('text: what others name can neither break the line nor steer the terminal', async t => {
  const evil = 'a\x1b[2J\nfake 200 OK\r\u2028\u202e\x9b31m'
  const line = textFormat(false)({ ...RECORD, fields: { ...RECORD.fields, model: evil, cause: evil.repeat(100) } })
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
  t.notMatch(line.slice(0, -1), /[\x00-\x1f\x7f-\x9f\u2028\u202e]/)
  t.match(line, 'a\\u001b[2J\\u000afake 200 OK')
  t.ok(line.length < 1500, 'long values are cut')
})
