import t from 'tap'
import type { GoodRequest, RequestEntry } from '../../src/core/entry.js'
import type { Usage } from '../../src/core/plan.js'
import { commonParts, goodLine, requestLine } from '../../src/sinks/request-line.js'
import { fc } from '../helpers/property.js'

const ENTRY: RequestEntry = {
  id: 'id-1',
  trace: '0af7651916cd43dd8448eb211c80319c',
  method: 'POST',
  route: 'POST /v1/chat/completions',
  key: 'a "quoted" key',
  model: 'm',
  upstream: 'one',
  status: 200,
  outcome: 'ok',
  stream: false,
  error: undefined,
  cause: undefined,
  phase: undefined,
  limit: undefined,
  attempts: [{ upstream: 'one', model: 'm-1', phase: 'ok', status: 200, milliseconds: 1 }],
  milliseconds: { first: undefined, total: 0 },
  bytes: { in: 1, out: 2 },
  events: 0,
  trailing: 0,
  truncated: false,
  early: false,
  usage: { input: 3, seconds: 1.5 },
  closed: undefined,
  dropped: [],
  blocked: undefined,
  generation: 1,
}

const parsed = (entry: RequestEntry): Record<string, unknown> => JSON.parse(requestLine(entry, 'info', 'now'))

t.test('a line is JSON, and omits unknown values', async t => {
  const { id, trace, method, route, key, model, upstream, status, outcome, stream } = ENTRY
  t.strictSame(parsed(ENTRY), {
    ...{ level: 'info', time: 'now', msg: 'request' },
    ...{ id, trace, method, route, key, model, upstream, target: 'm-1', status, outcome, stream },
    total_ms: 0,
    bytes_in: 1,
    bytes_out: 2,
    input_tokens: 3,
    audio_seconds: 1.5,
    generation: 1,
  })
})

t.test('a trace follows the id', async t => {
  const trace = '0af7651916cd43dd8448eb211c80319c'
  t.equal(parsed({ ...ENTRY, trace }).trace, trace)
})

t.test('durations are milliseconds to the hundredth', async t => {
  fc.assert(
    fc.property(fc.double({ min: 0, max: 1e9, noNaN: true }), first => {
      const { first_ms, total_ms } = parsed({ ...ENTRY, milliseconds: { first, total: first } })
      const rounded = Math.round(first * 100) / 100
      return first_ms === rounded && total_ms === rounded
    }),
  )
  for (const first of [0, 0.004, 0.005, 0.07, 0.1, 0.99, 0.995, 1, 99.999, 3_600_000]) {
    t.equal(parsed({ ...ENTRY, milliseconds: { first, total: 0 } }).first_ms, Math.round(first * 100) / 100)
  }
})

t.test('the line of a good request is the same without an entry', async t => {
  const count = fc.integer({ min: 0, max: 1e12 })
  const name = fc.oneof(fc.constantFrom('m-1', 'café', '東京', 'a "quoted" one', ''), fc.string())
  const times = {
    started: fc.double({ min: 0, max: 1e9, noNaN: true }),
    took: fc.double({ min: 0, max: 1e7, noNaN: true }),
  }
  const usage = fc.record(
    { input: count, output: count, total: count, cached: count, seconds: fc.double() },
    { requiredKeys: [] },
  )
  const given = fc.record({
    ...{
      ...times,
      names: fc.array(name, { minLength: 4, maxLength: 4 }),
      client: fc.option(fc.ipV6(), { nil: undefined }),
    },
    ...{
      stream: fc.boolean(),
      bytesIn: count,
      bytesOut: count,
      events: count,
      usage: fc.option(usage, { nil: undefined }),
    },
    ...{ hasBegun: fc.boolean(), hasKey: fc.boolean() },
  })
  fc.assert(
    fc.property(
      given,
      ({ names: [key, model, upstream = '', target = ''], hasBegun, hasKey, took, started, ...rest }) => {
        const { bytesIn, bytesOut, events } = rest
        const first = hasBegun ? started + took / 2 : undefined
        const named = { method: 'POST', route: 'POST /v1/x', key: hasKey ? key : undefined, model, upstream }
        const request = { ...rest, usage: rest.usage as Usage | undefined, id: 'id-1', started, firstByte: first }
        const trace = { id: ENTRY.trace }
        const tally = { firstByte: first, bytesIn, bytesOut, events }
        const ended = started + took
        const good: GoodRequest = { ...request, ended, tally, trace, status: 200, generation: { number: 7 } }
        const round = (value: number): number => Math.round(value * 100) / 100
        const entry: RequestEntry = {
          ...ENTRY,
          ...{ ...request, ...named, generation: 7 },
          ...{ bytes: { in: rest.bytesIn, out: rest.bytesOut } },
          attempts: [{ upstream, model: target, phase: 'ok', status: 200, milliseconds: 1 }],
          milliseconds: {
            first: first === undefined ? undefined : round(first - started),
            total: round(started + took - started),
          },
        }
        const parts = commonParts({ ...named, target })
        t.equal(goodLine(good, parts, 'now'), requestLine(entry, 'info', 'now'))
        return parts.isAscii === /^[\0-\x7f]*$/.test(parts.route + parts.names)
      },
    ),
  )
})
