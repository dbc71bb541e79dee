import t, { type Test } from 'tap'
import { GatewayError } from '../../src/core/errors.js'
import { FEATURES } from '../../src/features/index.js'
import type { Feature } from '../../src/kernel/stages.js'
import { brokenStream, CHAT_ANSWER, chatEvent, DONE, hang, json, reset, stream } from '../helpers/answers.js'
import { CALLER, CHAT, startTestGateway, type TestGateway, upstreamYaml } from '../helpers/gateway.js'
import { type OtlpReceiver, type ReceivedSpan, startOtlpReceiver } from '../helpers/otlp-receiver.js'
import { type RawUpstream, startRawUpstream } from '../helpers/raw-upstream.js'

/** Client, gateway and upstreams are in one trace: each attempt is a span of its own, and its upstream gets that span's id. */

const TRACE = '0af7651916cd43dd8448eb211c80319c'
const CLIENT_SPAN = 'b7ad6b7169203331'
const SAMPLED = { traceparent: `00-${TRACE}-${CLIENT_SPAN}-01` }
const MESSAGE = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'm',
  content: [{ type: 'text', text: 'Hello' }],
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: { input_tokens: 7, output_tokens: 4 },
}

interface Stage {
  readonly gateway: TestGateway
  readonly collector: OtlpReceiver
  readonly first: RawUpstream
  readonly second: RawUpstream
}

/** `m` has two upstreams, `t` is translated, `h` is hedged. */
async function stage(
  t: Test,
  more = '',
  traces = '{ sample: { rest: 1 } }',
  features: readonly Feature[] = FEATURES,
): Promise<Stage> {
  const collector = await startOtlpReceiver(t)
  const [first, second] = [await startRawUpstream(t), await startRawUpstream(t, { host: '127.0.0.2' })]
  const messages = `{ kind: anthropic, base: "${first.origin}", secret: { env: UPSTREAM_KEY } }`
  const yaml = `version: 1
${CALLER}
upstreams: { first: ${upstreamYaml(first.origin)}, second: ${upstreamYaml(second.origin)}, third: ${messages} }
models:
  m: [{ upstream: first }, { upstream: second }]
  t: third
  h: { targets: [{ upstream: first }, { upstream: second }], hedge: { after: 50ms } }
telemetry: { otlp: { endpoint: "${collector.origin}" }, traces: ${traces} }
retry: { on: [500, reset], attempts: 3, wait: 1ms }
${more}`
  return { gateway: await startTestGateway(t, yaml, { features }), collector, first, second }
}

async function serverSpan({ spans }: OtlpReceiver): Promise<ReceivedSpan> {
  return spans.find(span => span.kind === 'SPAN_KIND_SERVER')
}

/** The attempts of a request, in order. */
async function attempts(collector: OtlpReceiver, count: number): Promise<readonly ReceivedSpan[]> {
  return collector.spans.count(count, span => span.kind === 'SPAN_KIND_CLIENT')
}

/** What an upstream got with its nth request. */
async function parentAt(upstream: RawUpstream, nth = 0): Promise<readonly string[]> {
  const sent = (await upstream.requests.count(nth + 1))[nth]
  return sent?.header('traceparent')?.split('-') ?? []
}

t.test('a relayed request: server, admission and attempt, in the trace of its client', async t => {
  const { gateway, collector, first } = await stage(t)
  first.answer(json(CHAT_ANSWER))
  t.equal((await gateway.chat({}, { headers: SAMPLED })).status, 200)
  const server = await serverSpan(collector)
  t.match(server, {
    trace: TRACE,
    parent: CLIENT_SPAN,
    name: 'POST /v1/chat/completions',
    isError: false,
    attributes: {
      'http.request.method': 'POST',
      'http.route': '/v1/chat/completions',
      'http.response.status_code': 200,
      'gen_ai.request.model': 'm',
      'gateway.key': 'caller',
      'gateway.outcome': 'ok',
    },
    resource: { 'service.name': 'model-gateway', 'process.pid': process.pid },
  })
  const [attempt] = await attempts(collector, 1)
  t.match(attempt, {
    trace: TRACE,
    parent: server.id,
    name: 'chat m',
    attributes: {
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'first',
      'gen_ai.usage.input_tokens': CHAT_ANSWER.usage.prompt_tokens,
      'gen_ai.usage.output_tokens': CHAT_ANSWER.usage.completion_tokens,
      'http.response.status_code': 200,
      'server.address': '127.0.0.1',
      'server.port': first.port,
      'gateway.upstream': 'first',
      'gateway.phase': 'ok',
    },
  })
  t.same(
    attempt?.events.map(({ name }) => name),
    ['gateway.request_sent', 'gateway.first_content'],
  )
  t.same(await parentAt(first), ['00', TRACE, attempt?.id, '01'])
  t.match(collector.named('admit'), [{ trace: TRACE, parent: server.id, ended: (attempt as ReceivedSpan).started }])
  for (const span of collector.spans.items) {
    t.ok(span.started >= server.started && span.ended <= server.ended && span.started <= span.ended, span.name)
  }
  t.equal((await gateway.log.find(({ msg }) => msg === 'request')).trace, TRACE)
})

t.test('without a context a trace is made: its id is in the log and goes upstream', async t => {
  const { gateway, collector, first } = await stage(t)
  first.answer(json(CHAT_ANSWER))
  await gateway.chat()
  const server = await serverSpan(collector)
  t.equal(server.parent, undefined)
  t.match(server.trace, /^(?!0{32})[0-9a-f]{32}$/)
  t.equal((await parentAt(first))[1], server.trace)
  t.equal((await gateway.log.find(({ msg }) => msg === 'request')).trace, server.trace)
})

t.test('a context that cannot be read begins a trace, without the state of another one', async t => {
  const { gateway, first } = await stage(t)
  const tracestate = 'vendor=opaque'
  const contexts = [SAMPLED.traceparent, `${SAMPLED.traceparent}-extra`, `00-${TRACE}-${'0'.repeat(16)}-01`]
  first.answer(...contexts.map(() => json(CHAT_ANSWER)))
  for (const traceparent of contexts)
    await gateway.request('/v1/chat/completions', { body: CHAT, headers: { traceparent, tracestate } })
  const sent = await first.requests.count(3)
  t.same(
    sent.map(request => request.header('tracestate')),
    [tracestate, undefined, undefined],
  )
  t.same(
    sent.map(request => request.header('traceparent')?.split('-')[1] === TRACE),
    [true, false, false],
  )
})

t.test('a translated request has a span of its translation, within that of its attempt', async t => {
  const { gateway, collector, first } = await stage(t)
  first.answer(json(MESSAGE))
  t.equal((await gateway.chat({ model: 't', max_tokens: 64 })).status, 200)
  const [attempt] = await attempts(collector, 1)
  const translated = await collector.spans.find(({ name }) => name === 'translate')
  t.match(translated, { parent: attempt?.id, kind: 'SPAN_KIND_INTERNAL' })
  t.match(translated.attributes, { 'gateway.translation.from': 'chat', 'gateway.translation.to': 'messages' })
  t.equal((await parentAt(first))[2], attempt?.id)
  t.match(attempt?.attributes, { 'gen_ai.usage.input_tokens': 7, 'gen_ai.usage.output_tokens': 4 })
})

t.test('retries and a fallback: one span each, and each upstream gets its own', async t => {
  const { gateway, collector, first, second } = await stage(t)
  first.answer(json({ error: { message: 'no' } }, { status: 500 }))
  second.answer(json(CHAT_ANSWER))
  t.equal((await gateway.chat()).status, 200)
  const all = await attempts(collector, 2)
  t.same(
    all.map(({ attributes, isError }) => [attributes['gateway.upstream'], attributes['gateway.phase'], isError]),
    [
      ['first', 'status', true],
      ['second', 'ok', false],
    ],
  )
  t.match(all[0]?.attributes, { 'error.type': 'upstream_failed', 'http.response.status_code': 500 })
  t.equal(all[1]?.attributes['http.request.resend_count'], 1)
  t.same([(await parentAt(first))[2], (await parentAt(second))[2]], [all[0]?.id, all[1]?.id])
  const server = await serverSpan(collector)
  t.ok(all.every(({ parent, trace }) => parent === server.id && trace === server.trace))
  t.notOk(server.isError)
})

t.test('a hedge: two attempts side by side', async t => {
  const { gateway, collector, first, second } = await stage(t)
  first.answer(hang)
  second.answer(json(CHAT_ANSWER))
  t.equal((await gateway.chat({ model: 'h' })).status, 200)
  const all = await attempts(collector, 2)
  const hedge = all.find(({ attributes }) => attributes['gateway.hedge'] === true)
  const slow = all.find(one => one !== hedge)
  t.equal(hedge?.attributes['gateway.upstream'], 'second')
  t.match(slow?.attributes, { 'gateway.upstream': 'first', 'gateway.phase': 'cancelled' })
  t.same([(await parentAt(first))[2], (await parentAt(second))[2]], [slow?.id, hedge?.id])
})

t.test('a stream, and one whose client leaves', async t => {
  const { gateway, collector, first } = await stage(t)
  first.answer(stream([chatEvent('one'), chatEvent('two'), DONE]), brokenStream([chatEvent('one')], hang))
  await gateway.chat({ stream: true })
  t.match(await serverSpan(collector), { attributes: { 'gateway.stream': true, 'gateway.outcome': 'ok' } })
  const client = await gateway.open('/v1/chat/completions', { body: { ...CHAT, stream: true } })
  await client.body(await client.head(), got => got.includes('one'))
  client.socket.destroy()
  const gone = await collector.spans.find(({ attributes }) => attributes['gateway.outcome'] === 'client_abort')
  t.match(gone, { isError: false, attributes: { 'http.response.status_code': 499, 'error.type': 'client_gone' } })
  const [, attempt] = await attempts(collector, 2)
  t.match(attempt, { parent: gone.id, isError: false, attributes: { 'gateway.phase': 'cancelled' } })
})

t.test('a refused request has a server span and an admission, and no attempt', async t => {
  const { gateway, collector } = await stage(t)
  t.equal((await gateway.chat({ model: 'unknown' })).status, 404)
  const server = await serverSpan(collector)
  t.match(server, { isError: false, attributes: { 'http.response.status_code': 404, 'error.type': 'model_not_found' } })
  const admit = await collector.spans.find(({ name }) => name === 'admit')
  t.match(admit, { parent: server.id, attributes: { 'error.type': 'model_not_found' } })
  t.same(await attempts(collector, 0), [])
})

t.test('errors are sent where nothing else is, a failed attempt among them', async t => {
  const { gateway, collector, first, second } = await stage(t, '', '{ sample: { rest: 0, slow: 0 } }')
  first.answer(json(CHAT_ANSWER), json(CHAT_ANSWER), reset)
  second.answer(json(CHAT_ANSWER), json({ error: { message: 'no' } }, { status: 500 }))
  const unsampled = { traceparent: `00-${TRACE}-${CLIENT_SPAN}-00` }
  await gateway.chat()
  await gateway.chat({}, { headers: unsampled })
  t.same((await parentAt(first, 1))[3], '00', 'upstreams hear that it is not recorded')
  await gateway.chat({}, { headers: unsampled })
  const server = await serverSpan(collector)
  t.match(server, { trace: TRACE, parent: CLIENT_SPAN, attributes: { 'gateway.outcome': 'ok' } })
  t.equal((await attempts(collector, 2)).length, 2)
  t.equal((await gateway.chat()).status, 502)
  const failed = await collector.spans.find(({ attributes }) => attributes['gateway.outcome'] === 'upstream_error')
  t.ok(failed.isError)
  t.equal(collector.spans.items.filter(({ kind }) => kind === 'SPAN_KIND_SERVER').length, 2)
})

t.test('parent: ignore does not let callers decide', async t => {
  const { gateway, collector, first } = await stage(t, '', '{ parent: ignore, sample: { rest: 0 } }')
  first.answer(json(CHAT_ANSWER), reset)
  await gateway.chat({}, { headers: SAMPLED })
  t.equal((await parentAt(first))[3], '00')
  t.equal(collector.spans.items.length, 0)
})

t.test('an upstream that is to hear nothing of traces does not', async t => {
  const collector = await startOtlpReceiver(t)
  const upstream = await startRawUpstream(t)
  upstream.answer(json(CHAT_ANSWER))
  const up = upstreamYaml(upstream.origin, 'forward: { trace: false }')
  const telemetry = `telemetry: { otlp: { endpoint: "${collector.origin}" }, traces: { sample: { rest: 1 } } }`
  const gateway = await startTestGateway(
    t,
    `version: 1\n${CALLER}\nupstreams: { up: ${up} }\nmodels: { m: up }\n${telemetry}\n`,
  )
  await gateway.chat({}, { headers: SAMPLED })
  t.same(await parentAt(upstream), [])
  t.equal((await serverSpan(collector)).trace, TRACE)
})

t.test('an attempt that a gate rejected is not an error', async t => {
  const gate: Feature = {
    name: 'gate',
    compile: () => ({
      name: 'gate',
      beforeAttempt: ({ exchange }) =>
        exchange.upstream.name === 'first' ? new GatewayError('rate_limited', 'No.') : undefined,
    }),
  }
  const { gateway, collector, second } = await stage(t, '', '{ sample: { rest: 1 } }', [...FEATURES, gate])
  second.answer(json(CHAT_ANSWER))
  t.equal((await gateway.chat()).status, 200)
  const [skipped, served] = await attempts(collector, 2)
  t.match(skipped, { isError: false, attributes: { 'gateway.upstream': 'first', 'gateway.phase': 'skipped' } })
  t.match(served, { isError: false, attributes: { 'gateway.upstream': 'second', 'gateway.phase': 'ok' } })
})
