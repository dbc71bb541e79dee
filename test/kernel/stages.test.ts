import t, { type Test } from 'tap'
import { GatewayError } from '../../src/core/errors.js'
import { FEATURES } from '../../src/features/index.js'
import { chainOf, compileChain, type OpenFeature } from '../../src/kernel/chain.js'
import { slot } from '../../src/kernel/slot.js'
import type { Feature, Stage } from '../../src/kernel/stages.js'
import { body, CHAT_ANSWER, chatEvent, chunk, DONE, json, startStream } from '../helpers/answers.js'
import { CALLER, CHAT, oneUpstream, startTestGateway, type TestGateway, upstreamYaml } from '../helpers/gateway.js'
import { withResolvers } from '../helpers/journal.js'
import { startRawUpstream } from '../helpers/raw-upstream.js'
import { open, startRealtime } from '../helpers/realtime.js'

/** A feature with one stage for the routes on which upstreams are asked. */
function feature(stage: Stage): Feature {
  return { name: stage.name, compile: ({ route }) => (route?.lane === 'exchange' ? stage : undefined) }
}

/** Before all others but the caller's key, so that what it takes is given back last. */
function withFeature(own: Feature): readonly Feature[] {
  const at = FEATURES.findIndex(({ name }) => name === 'keys') + 1
  return [...FEATURES.slice(0, at), own, ...FEATURES.slice(at)]
}

/** A gateway whose model `m` has two targets, of which the first answers with 500. */
async function withBrokenTarget(test: Test, own: Feature): Promise<TestGateway> {
  const [first, second] = [await startRawUpstream(test), await startRawUpstream(test, { host: '127.0.0.2' })]
  first.answer(json({ error: { message: 'broken' } }, { status: 500 }))
  second.answer(json(CHAT_ANSWER))
  const upstreams = `upstreams:\n  first: ${upstreamYaml(first.origin)}\n  second: ${upstreamYaml(second.origin)}\n`
  const yaml = `version: 1\n${CALLER}\n${upstreams}models: { m: [{ upstream: first }, { upstream: second }] }\n`
  return startTestGateway(test, `${yaml}retry: { on: [500] }\n`, { features: withFeature(own) })
}

t.test('limits: a budget of tokens is counted, shown and enforced', async t => {
  const [taken, spent] = [slot<true>('taken'), new Map<string, number>()]
  let inFlight = 0
  const limits: Stage = {
    name: 'limits',
    admit(call) {
      if ((spent.get(call.key) ?? 0) >= CHAT_ANSWER.usage.total_tokens)
        throw new GatewayError('rate_limited', 'The budget is spent.')
      inFlight++
      call.set(taken, true)
    },
    onUsage: (call, usage) => void spent.set(call.key, usage.total ?? 0),
    onAnswerHead: (call, _status, headers) => void headers.push('x-spent', String(spent.get(call.key) ?? 0)),
    settle: call => void (call.get(taken) && inFlight--),
  }
  const upstream = await startRawUpstream(t)
  upstream.answer(json(CHAT_ANSWER))
  const gateway = await startTestGateway(t, oneUpstream(upstream.origin), { features: withFeature(feature(limits)) })
  const first = await gateway.chat()
  t.equal(first.status, 200)
  t.equal(first.header('x-spent'), String(CHAT_ANSWER.usage.total_tokens))
  const second = await gateway.chat()
  t.equal(second.status, 429)
  t.equal(second.header('x-spent'), first.header('x-spent'), 'refusals have the header, too')
  t.equal(upstream.requests.items.length, 1, 'the second request was refused before the upstream was asked')
  await gateway.log.find(line => line.msg === 'request' && line.status === 429)
  t.equal(inFlight, 0)
})

t.test('health: a target that failed is passed over', async t => {
  const failed = new Set<string>()
  const gateway = await withBrokenTarget(
    t,
    feature({
      name: 'health',
      beforeAttempt: ({ exchange }) =>
        failed.has(exchange.upstream.name) ? new GatewayError('unavailable', 'The breaker is open.') : undefined,
      afterAttempt({ exchange }, { phase }) {
        if (phase !== 'ok') failed.add(exchange.upstream.name)
      },
    }),
  )
  for (const count of [1, 2]) {
    t.same((await gateway.chat()).json(), CHAT_ANSWER)
    await gateway.log.count(count, line => line.msg === 'request')
  }
  const lines = gateway.log.items.filter(line => line.msg === 'request')
  t.same(
    lines.map(({ attempts }) => (attempts as unknown[] | undefined)?.length ?? 1),
    [2, 1],
  )
  t.same([...failed], ['first'])
})

t.test('telemetry: each attempt has a span, and the upstream gets its id', async t => {
  const spans: string[] = []
  const telemetry: Stage = {
    name: 'telemetry',
    beforeAttempt: ({ exchange }) => void spans.push(`begin ${exchange.upstream.name}`),
    onUpstreamRequest: ({ call }, headers) => void headers.push('traceparent', `00-${call.id}-01`),
    afterAttempt: ({ exchange }, { phase, status }) => void spans.push(`${exchange.upstream.name} ${phase} ${status}`),
    recordAttempt: ({ number, ended }) => void spans.push(`record ${number} ${ended > 0}`),
    record: ({ status, ended }) => void spans.push(`record ${status} ${ended > 0}`),
  }
  const gateway = await withBrokenTarget(t, feature(telemetry))
  t.equal((await gateway.chat()).status, 200)
  await gateway.log.find(line => line.msg === 'request')
  t.same(
    spans.filter(span => !span.startsWith('record')),
    ['begin first', 'first status 500', 'begin second', 'second ok 200'],
  )
  t.same(
    spans.filter(span => span.startsWith('record')),
    ['record 1 true', 'record 2 true', 'record 200 true'],
  )
  t.ok(spans.indexOf('first status 500') < spans.indexOf('record 1 true'))
})

t.test('checks: a request is refused by its content, and a stream by what it says', async t => {
  const checks: Stage = {
    name: 'checks',
    onBody(_call, body) {
      if (body.type === 'bytes' && body.bytes.includes('forbidden')) throw new GatewayError('bad_request', 'No.')
      return body
    },
    observe: ({ call }) => [
      {
        push(bytes) {
          if (Buffer.from(bytes).includes('secret'))
            call.cut(new GatewayError('unavailable', 'The answer was stopped.'))
        },
        end: () => undefined,
      },
    ],
  }
  const upstream = await startRawUpstream(t)
  const gateway = await startTestGateway(t, oneUpstream(upstream.origin), { features: withFeature(feature(checks)) })
  const refused = await gateway.chat({ messages: [{ role: 'user', content: 'forbidden' }] })
  t.equal(refused.status, 400)
  t.equal(upstream.requests.items.length, 0)
  upstream.answer(async peer => {
    await startStream(peer)
    await peer.send(chunk(chatEvent('a secret')))
    await peer.send(chunk(DONE))
  })
  const stopped = await gateway.chat({ stream: true })
  t.match(stopped.text, 'The answer was stopped.')
  t.notMatch(stopped.text, '[DONE]')
})

t.test('a gate that decides after the client has left gives back what it took', async t => {
  const { promise: decided, resolve: decide } = withResolvers<undefined>()
  const { promise: asked, resolve: ask } = withResolvers<void>()
  const { promise: returned, resolve: giveBack } = withResolvers<string>()
  const slow: Stage = {
    name: 'slow',
    beforeAttempt() {
      ask()
      return decided
    },
    afterAttempt: (_attempt, { phase }) => giveBack(phase),
  }
  const upstream = await startRawUpstream(t)
  const gateway = await startTestGateway(t, oneUpstream(upstream.origin), { features: withFeature(feature(slow)) })
  const client = await gateway.open('/v1/chat/completions', { body: CHAT })
  await asked
  client.socket.destroy()
  await gateway.log.find(line => line.msg === 'request')
  decide(undefined)
  t.equal(await returned, 'cancelled')
  t.equal(upstream.requests.items.length, 0)
})

t.test('a stage that fails at the end of a call stops neither its answer nor other stages', async t => {
  const fail = (): never => {
    throw new Error('a fault of the stage')
  }
  const faulty: Stage = {
    name: 'faulty',
    onUsage: fail,
    afterAttempt: fail,
    recordAttempt: fail,
    onAnswerHead: fail,
    settle: fail,
    record: fail,
  }
  const upstream = await startRawUpstream(t)
  upstream.answer(json(CHAT_ANSWER))
  const gateway = await startTestGateway(t, oneUpstream(upstream.origin), { features: withFeature(feature(faulty)) })
  for (let count = 0; count < 2; count++) t.same((await gateway.chat()).json(), CHAT_ANSWER)
  await gateway.log.count(2, line => line.msg === 'request' && line.outcome === 'ok')
  const faults = await gateway.log.count(12, line => line.msg === 'a stage failed')
  t.strictSame([...new Set(faults.map(({ hook }) => hook))].sort(), [
    'afterAttempt',
    'onAnswerHead',
    'onUsage',
    'record',
    'recordAttempt',
    'settle',
  ])
})

t.test('a call that has ended is not cut while it waits for its record', async t => {
  const cuts: boolean[] = []
  const late: Stage = {
    name: 'late',
    settle: call => queueMicrotask(() => cuts.push(call.cut(new GatewayError('unavailable', 'Too late.')))),
  }
  const upstream = await startRawUpstream(t)
  upstream.answer(body('sound', { headers: { 'content-type': 'audio/mpeg' } }))
  const gateway = await startTestGateway(t, oneUpstream(upstream.origin), { features: withFeature(feature(late)) })
  const speech = { model: 'm', input: 'Hello', voice: 'alloy' }
  t.equal((await gateway.request('/v1/audio/speech', { body: speech })).text, 'sound')
  const line = await gateway.log.find(line => line.msg === 'request')
  t.match(line, { status: 200, outcome: 'ok', error: undefined })
  t.same(cuts, [false])
})

t.test('a route has the stages that it needs, and no others', async t => {
  const upstream = await startRawUpstream(t)
  const seen: string[] = []
  const probe: Feature = {
    name: 'probe',
    compile: () => ({
      name: 'probe',
      record(call) {
        for (const [phase, names] of chainOf(call).names) seen.push(`${phase}: ${names.join(' ')}`)
      },
    }),
  }
  upstream.answer(json(CHAT_ANSWER))
  const gateway = await startTestGateway(t, oneUpstream(upstream.origin), { features: [...FEATURES, probe] })
  await gateway.request('/v1/models')
  await gateway.log.find(line => line.msg === 'request')
  t.same(seen, [
    ...['identify: keys', 'admit: in_flight', 'serve: answers', 'beforeAttempt: expose', 'afterAttempt: expose'],
    ...['isKey: keys', 'onAnswerHead: expose', 'settle: in_flight', 'record: log probe'],
  ])
})

t.test('two features that serve one route are an error when the plan is compiled', async t => {
  const serving = (name: string): OpenFeature => ({
    feature: { name, compile: () => ({ name, serve: () => undefined }) },
    service: {},
  })
  const step = (): void => undefined
  const own = { begin: step, match: step, readBody: step, resolve: step, dispatch: step }
  const site = { route: { id: 'GET /x', lane: 'answer' } } as never
  t.throws(() => compileChain([serving('a'), serving('b')], site, own), { message: 'two features serve GET /x' })
})

t.test('a stage lowers the largest body before it is read: of JSON, of forms, and of bodies that pass', async t => {
  const small: Stage = { name: 'small', admit: call => call.limitBody(100) }
  const upstream = await startRawUpstream(t)
  upstream.answer(json(CHAT_ANSWER))
  for (const transport of ['fast', 'node']) {
    const yaml = oneUpstream(upstream.origin, `transport: ${transport}\n`)
    const gateway = await startTestGateway(t, yaml, { features: withFeature(feature(small)) })
    t.equal((await gateway.chat()).status, 200)
    for (const content of ['x'.repeat(100), 'x'.repeat(100_000)]) {
      const refused = await gateway.chat({ messages: [{ role: 'user', content }] })
      t.equal(refused.status, 413)
      t.match(refused.text, '100 bytes')
    }
    const form = new FormData()
    form.set('model', 'm')
    form.set('purpose', 'x'.repeat(100))
    const sent = await fetch(`${gateway.origin}/v1/audio/transcriptions`, {
      ...{ method: 'POST', headers: { authorization: `Bearer ${gateway.key}` }, body: form },
    })
    t.equal(sent.status, 413)
    await sent.text()
  }
})

t.test('the handshake of a tunnel is answered with the headers of stages', async t => {
  for (const kind of ['raw', 'framed']) {
    const marking: Stage = {
      name: 'marking',
      onAnswerHead: (_call, status, headers) => void headers.push('x-mark', String(status)),
    }
    const own: Feature = {
      name: 'marking',
      compile: ({ route }) => (route?.tunnel === undefined ? undefined : marking),
    }
    const more = `routes: { WS /v1/realtime: { protocol: realtime, model: query.model, tunnel: ${kind} } }\n`
    const realtime = await startRealtime(t, more, { features: withFeature(own) })
    const { head } = await open(t, realtime)
    t.match(head, /^HTTP\/1.1 101 [\s\S]*x-mark: 101\r?$/im)
  }
})
