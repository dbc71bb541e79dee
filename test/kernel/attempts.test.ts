import t, { type Test } from 'tap'
import { GatewayError } from '../../src/core/errors.js'
import type { Service, Stage } from '../../src/kernel/stages.js'
import { closeFrame, textFrame } from '../../src/wire/frames.js'
import { brokenStream, CHAT_ANSWER, chatEvent, DONE, hang, json, reset, stream } from '../helpers/answers.js'
import { CALLER, CHAT, oneUpstream, startTestGateway, type TestGateway, upstreamYaml } from '../helpers/gateway.js'
import { meter, withFeature, withStage } from '../helpers/metered.js'
import { type RawUpstream, type Script, startRawUpstream } from '../helpers/raw-upstream.js'
import { open, startRealtime } from '../helpers/realtime.js'

/** Each attempt tells a stage what it alone used and delivered, on every lane and both transports. */

const USAGE = { prompt_tokens: 7, completion_tokens: 4, total_tokens: 11 }
const USED = `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [], usage: USAGE })}\n\n`
const CHAT_TOTAL = CHAT_ANSWER.usage.total_tokens
const STREAM = [chatEvent('one'), chatEvent('two'), USED, DONE]

const START = {
  type: 'message_start',
  message: {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'm',
    content: [],
    stop_reason: null,
    usage: { input_tokens: 7, output_tokens: 1 },
  },
}
const BLOCK = { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }
const DELTA = { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hello' } }
const event = (one: { readonly type: string }): string => `event: ${one.type}\ndata: ${JSON.stringify(one)}\n\n`
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

const TRANSPORTS = ['fast', 'node'] as const

interface Metering extends ReturnType<typeof meter> {
  readonly up: RawUpstream
  readonly gateway: TestGateway
}

/** `m` is relayed, `t` translated, both of the same upstream. */
async function metering(test: Test, transport: string, more = ''): Promise<Metering> {
  const up = await startRawUpstream(test)
  const metered = meter()
  const messages = `{ kind: anthropic, base: "${up.origin}", secret: { env: UPSTREAM_KEY } }`
  const upstreams = `upstreams: { up: ${upstreamYaml(up.origin)}, other: ${messages} }\nmodels: { m: up, t: other }\n`
  const yaml = `version: 1\n${CALLER}\n${upstreams}transport: ${transport}\n${more}`
  const gateway = await startTestGateway(test, yaml, { features: withStage(metered.stage) })
  return { ...metered, up, gateway }
}

for (const transport of TRANSPORTS) {
  t.test(`${transport}: a relayed answer, whole and streamed`, async t => {
    const { up, gateway, ended, order } = await metering(t, transport)
    up.answer(json(CHAT_ANSWER))
    const { text } = await gateway.chat()
    const common = { phase: 'ok', status: 200, begun: true, number: 1, isSent: true, error: undefined }
    t.match((await ended.count(1))[0], { ...common, total: CHAT_TOTAL, bytes: text.length, events: 0 })
    up.answer(stream(STREAM))
    const streamed = await gateway.chat({ stream: true })
    t.match((await ended.count(2))[1], { ...common, total: 11, bytes: streamed.text.length, events: 3 })
    await gateway.log.count(2, line => line.msg === 'request')
    const once = ['before 1', 'after 1', 'end', 'settle']
    t.same(order, [...once, ...once], 'the end of the answer waits for what is known of the attempt')
  })

  t.test(`${transport}: a translated answer, whole and streamed`, async t => {
    const { up, gateway, ended } = await metering(t, transport)
    up.answer(json(MESSAGE))
    const { text } = await gateway.chat({ model: 't', max_tokens: 64 })
    t.match((await ended.count(1))[0], { phase: 'ok', begun: true, total: 11, bytes: Buffer.byteLength(text) })
    const last = { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 4 } }
    const events = [START, BLOCK, DELTA, { type: 'content_block_stop', index: 0 }, last, { type: 'message_stop' }]
    up.answer(stream(events.map(event)))
    const streamed = await gateway.chat({ model: 't', max_tokens: 64, stream: true })
    t.match((await ended.count(2))[1], { phase: 'ok', begun: true, total: 11, bytes: streamed.text.length })
  })

  t.test(`${transport}: a client that leaves, and what it has got by then`, async t => {
    for (const [model, pieces] of [
      ['m', [chatEvent('one'), chatEvent('two')]],
      ['t', [START, BLOCK, DELTA].map(event)],
    ] as const) {
      const { up, gateway, ended, order } = await metering(t, transport)
      up.answer(brokenStream(pieces, hang))
      const client = await gateway.open('/v1/chat/completions', {
        body: { ...CHAT, model, max_tokens: 64, stream: true },
      })
      await client.body(await client.head(), got => /two|Hello/.test(got.toString()))
      client.socket.destroy()
      const [attempt] = await ended.count(1)
      t.match(attempt, { phase: 'cancelled', status: 200, begun: true, isSent: true, error: 'client_gone' })
      t.ok(attempt !== undefined && attempt.bytes > 100 && attempt.events > 0, `${attempt?.bytes} bytes`)
      if (model === 't') t.equal(attempt?.input, 7, 'what its beginning said')
      await gateway.log.find(line => line.msg === 'request')
      t.same(order, ['before 1', 'after 1', 'settle'])
    }
  })
}

t.test('each attempt of a fallback has its own usage, and the log has their sum', async t => {
  const [first, second] = [await startRawUpstream(t), await startRawUpstream(t, { host: '127.0.0.2' })]
  const { stage, ended } = meter()
  const kind = (origin: string): string => `{ kind: anthropic, base: "${origin}", secret: { env: UPSTREAM_KEY } }`
  const upstreams = `upstreams: { first: ${kind(first.origin)}, second: ${kind(second.origin)} }\n`
  const models = 'models: { t: [{ upstream: first }, { upstream: second }] }\nretry: { on: [500, bad_response] }\n'
  const gateway = await startTestGateway(t, `version: 1\n${CALLER}\n${upstreams}${models}`, {
    features: withStage(stage),
  })
  // It is billed, and cannot be read.
  first.answer(json({ ...MESSAGE, content: 'Hello' }))
  second.answer(json(MESSAGE))
  t.equal((await gateway.chat({ model: 't', max_tokens: 64 })).status, 200)
  const both = await ended.count(2)
  t.match(both[0], { upstream: 'first', number: 1, input: 7, begun: false, bytes: 0, phase: 'bad_response' })
  t.match(both[1], { upstream: 'second', number: 2, input: 7, total: 11, phase: 'ok', begun: true })
  t.match(await gateway.log.find(line => line.msg === 'request'), { input_tokens: 14 })
})

t.test('failures: a passed refusal, a broken connection, silence, a break in the middle', async t => {
  const once = 'retry: { attempts: 1 }\n'
  const patient = await metering(t, 'fast', once)
  // Of those that say nothing more.
  const short = await metering(t, 'fast', `timeouts: { first_byte: 200ms, idle: 200ms }\n${once}`)
  const cases: readonly (readonly [Metering, Script, boolean, object])[] = [
    [
      patient,
      json({ error: { message: 'no' } }, { status: 400 }),
      false,
      { phase: 'status', status: 400, bytes: 0, begun: false },
    ],
    [patient, reset, false, { phase: 'reset', status: undefined, begun: false, isSent: true }],
    [short, hang, false, { phase: 'first_byte', status: undefined, error: 'upstream_timeout', isSent: true }],
    [
      patient,
      brokenStream([chatEvent('one')], reset),
      true,
      { phase: 'reset', status: 200, begun: true, error: 'upstream_truncated' },
    ],
    [
      short,
      brokenStream([chatEvent('one')], hang),
      true,
      { phase: 'idle', status: 200, begun: true, error: 'upstream_timeout' },
    ],
  ]
  for (const [{ up, gateway, ended }, script, isStream, expected] of cases) {
    const count = ended.items.length
    up.answer(script)
    await gateway.chat({ stream: isStream }).catch(() => undefined)
    t.match((await ended.count(count + 1))[count], expected)
  }
  t.same([patient.ended.items.length, short.ended.items.length], [3, 2])
})

t.test('an answer that a drain of the process cuts off', async t => {
  const { up, gateway, ended } = await metering(t, 'fast', 'limits: { drain: 50ms }\n')
  up.answer(brokenStream([chatEvent('one')], hang))
  const client = await gateway.open('/v1/chat/completions', { body: { ...CHAT, stream: true } })
  await client.body(await client.head(), got => got.includes('one'))
  await gateway.gateway.close()
  t.match((await ended.count(1))[0], { phase: 'drain', status: 200, begun: true, error: 'unavailable' })
})

t.test('each of several calls for one request has gates of its own, and its own usage', async t => {
  const up = await startRawUpstream(t)
  const { stage, ended } = meter()
  const further: boolean[] = []
  const counting: Stage = {
    ...stage,
    beforeAttempt(attempt) {
      further.push(attempt.isFurther)
      // Of three one is refused: it is missing from the answer.
      return attempt.number === 3 ? new GatewayError('rate_limited', 'No.') : undefined
    },
  }
  const kind = `{ kind: gemini-native, base: "${up.origin}", secret: { env: UPSTREAM_KEY }, speaks: { predict: off } }`
  const gateway = await startTestGateway(t, `version: 1\n${CALLER}\nupstreams: { up: ${kind} }\nmodels: { m: up }\n`, {
    features: withStage(counting),
  })
  const part = { inlineData: { mimeType: 'image/png', data: 'iVBORw0KGgo=' } }
  const usageMetadata = { promptTokenCount: 10, candidatesTokenCount: 20, totalTokenCount: 30 }
  up.answer(
    json({
      candidates: [{ index: 0, content: { role: 'model', parts: [part] }, finishReason: 'STOP' }],
      usageMetadata,
    }),
  )
  const answer = await gateway.request('/v1/images/generations', { body: { model: 'm', prompt: 'x', n: 3 } })
  t.equal((answer.json() as { data: unknown[] }).data.length, 2, answer.text)
  t.same(further, [false, true, true])
  t.same(
    (await ended.count(2))
      .map(({ total, phase, number }) => ({ total, phase, number }))
      .sort((a, b) => a.number - b.number),
    [
      { total: 30, phase: 'ok', number: 1 },
      { total: 30, phase: 'ok', number: 2 },
    ],
  )
  t.equal(up.requests.items.length, 2)
  t.match(await gateway.log.find(line => line.msg === 'request'), { input_tokens: 20, output_tokens: 40 })
})

for (const kind of ['raw', 'framed'] as const) {
  t.test(`a ${kind} tunnel is one attempt while its session lasts, and its usage grows`, async t => {
    const { stage, ended } = meter()
    const grown: unknown[] = []
    const growing: Stage = { ...stage, onUsage: (_call, _usage, { usage }) => void grown.push(usage?.total) }
    const more = `routes: { WS /v1/realtime: { protocol: realtime, model: query.model, tunnel: ${kind} } }\n`
    const realtime = await startRealtime(t, more, { features: withStage(growing) })
    const { client, server } = await open(t, realtime)
    const done = (total: number): string =>
      JSON.stringify({ type: 'response.done', response: { usage: { total_tokens: total } } })
    for (const total of [5, 6]) server.send(textFrame(done(total), false))
    server.send(textFrame('{"type":"other"}', false))
    await client.texts.count(3)
    t.equal(ended.items.length, 0)
    t.same(grown, [5, 11])
    client.send(closeFrame(1000, '', true))
    await server.closes.count(1)
    server.send(closeFrame(1000, '', false))
    t.match(await ended.count(1), [{ phase: 'ok', status: 101, total: 11, isSent: true, events: 0 }])
  })
}

t.test('a feature is opened once a process, hears of new plans, and closes before the store', async t => {
  const heard: string[] = []
  interface Counting extends Service {
    count: number
  }
  const up = await startRawUpstream(t)
  up.answer(json(CHAT_ANSWER))
  const counting = {
    name: 'counting',
    open(kernel: { readonly store: { blobs: unknown } }): Counting {
      heard.push('open')
      return {
        count: 0,
        adopt: ({ models }) => void heard.push(`adopt ${models === undefined ? '' : 'plan'}`),
        async close() {
          await new Promise(resolve => setImmediate(resolve))
          heard.push(`close ${kernel.store === undefined ? '' : 'with a store'}`)
        },
      }
    },
    compile: ({ route }: { readonly route: unknown }, state: Counting): Stage | undefined =>
      route === undefined ? undefined : { name: 'counting', record: () => void state.count++ },
  }
  const gateway = await startTestGateway(t, oneUpstream(up.origin), { features: withFeature(counting as never) })
  await gateway.chat()
  await gateway.write('gateway.yaml', oneUpstream(up.origin, 'limits: { drain: 1s }\n'))
  await gateway.gateway.reload()
  t.same(heard, ['open', 'adopt plan'])
  await gateway.gateway.close()
  t.same(heard, ['open', 'adopt plan', 'close with a store'])
})

t.test('gates that answer at once cost no turn of the event loop; one that waits parks', async t => {
  const up = await startRawUpstream(t)
  up.answer(json(CHAT_ANSWER))
  const order: string[] = []
  const probe = (name: string, waits: boolean): Stage => ({
    name,
    beforeAttempt() {
      order.push(`before ${name}`)
      queueMicrotask(() => order.push(`a turn after ${name}`))
      return waits ? Promise.resolve(undefined) : undefined
    },
    onUpstreamRequest: () => void order.push(`ask ${name}`),
    afterAttempt: () => void order.push(`after ${name}`),
  })
  const [at, waiting] = [probe('at once', false), probe('waiting', true)]
  const first = await startTestGateway(t, oneUpstream(up.origin), { features: withStage(at) })
  t.equal((await first.chat()).status, 200)
  t.same(order.splice(0), ['before at once', 'ask at once', 'a turn after at once', 'after at once'])
  const second = await startTestGateway(t, oneUpstream(up.origin), { features: withStage(waiting) })
  t.equal((await second.chat()).status, 200)
  t.same(order, ['before waiting', 'a turn after waiting', 'ask waiting', 'after waiting'])
})
