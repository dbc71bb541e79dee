import t, { type Test } from 'tap'
import { Drain } from '../../src/kernel/drain.js'
import type { Feature } from '../../src/kernel/stages.js'
import { CHAT_ANSWER, chatEvent, chunk, DONE, json, LAST_CHUNK, startStream } from '../helpers/answers.js'
import { CALLER, CHAT, startTestGateway, type TestGateway, upstreamYaml } from '../helpers/gateway.js'
import { withResolvers } from '../helpers/journal.js'
import { meter, withFeature, withStage } from '../helpers/metered.js'
import { type RawUpstream, type Script, startRawUpstream } from '../helpers/raw-upstream.js'

/** `on_client_abort: drain`: what an upstream says after its client has gone is read for its usage. */

const USAGE = { prompt_tokens: 7, completion_tokens: 4, total_tokens: 11 }
const USED = `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [], usage: USAGE })}\n\n`
const event = (one: { readonly type: string }): string => `event: ${one.type}\ndata: ${JSON.stringify(one)}\n\n`
const START = {
  type: 'message_start',
  message: {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'm',
    content: [],
    usage: { input_tokens: 7, output_tokens: 1 },
  },
}
const BLOCK = { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }
const delta = (text: string) => ({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } })
const END = [
  { type: 'content_block_stop', index: 0 },
  { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 4 } },
  { type: 'message_stop' },
]
const MESSAGE = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'm',
  content: [{ type: 'text', text: 'Hello' }],
  stop_reason: 'end_turn',
  usage: { input_tokens: 7, output_tokens: 4 },
}

interface Draining extends ReturnType<typeof meter> {
  readonly up: RawUpstream
  readonly gateway: TestGateway
}

async function draining(test: Test, more = '', onClientAbort: 'cancel' | 'drain' = 'drain'): Promise<Draining> {
  const up = await startRawUpstream(test)
  const metered = meter()
  const word = `on_client_abort: ${onClientAbort}`
  const messages = `{ kind: anthropic, base: "${up.origin}", secret: { env: UPSTREAM_KEY }, ${word} }`
  const models = `models: { m: up, t: other }\nprices: { m: { output: 1 }, t: { output: 1 } }\n`
  const upstreams = `upstreams: { up: ${upstreamYaml(up.origin, word)}, other: ${messages} }\n`
  const features = withStage(metered.stage)
  const gateway = await startTestGateway(test, `version: 1\n${CALLER}\n${upstreams}${models}${more}`, { features })
  return { ...metered, up, gateway }
}

/** Leaves once `seen` has come (at once where there is nothing to see), and lets the upstream continue when the call has settled. */
async function leave(
  { up, gateway, order, settled }: Draining,
  body: object,
  first: Script,
  rest: Script,
  seen?: string,
): Promise<void> {
  const { promise: left, resolve } = withResolvers<void>()
  up.answer(async peer => {
    await first(peer)
    await left
    await rest(peer)
  })
  const client = await gateway.open('/v1/chat/completions', { body: { ...CHAT, max_tokens: 64, ...body } })
  if (seen === undefined) await up.requests.count(1)
  else await client.body(await client.head(), got => got.includes(seen))
  client.socket.destroy()
  await settled.count(1)
  if (order[0] !== 'before 1' || order.includes('after 1')) throw new Error(`too early: ${order.join(',')}`)
  resolve()
}

const pieces =
  (...texts: readonly string[]): Script =>
  async peer => {
    for (const text of texts) await peer.send(chunk(text))
  }
const begun =
  (...texts: readonly string[]): Script =>
  async peer => {
    await startStream(peer)
    await pieces(...texts)(peer)
  }
const ended =
  (...texts: readonly string[]): Script =>
  async peer => {
    await pieces(...texts)(peer)
    await peer.send(LAST_CHUNK)
  }

t.test('a relayed and a translated stream are read to their usage', async t => {
  const relayed = await draining(t)
  await leave(relayed, { stream: true }, begun(chatEvent('one')), ended(chatEvent('two'), USED, DONE), 'one')
  const [one] = await relayed.ended.count(1)
  t.match(one, { phase: 'cancelled', status: 200, begun: true, total: 11, events: 1, error: 'client_gone' })
  t.equal(one?.bytes, chatEvent('one').length, 'what was delivered, and no more')
  t.same(relayed.order, ['before 1', 'settle', 'after 1'])
  const line = await relayed.gateway.log.find(({ msg }) => msg === 'request')
  t.match(line, {
    status: 499,
    upstream: 'up',
    attempts: [{ phase: 'cancelled' }],
    output_tokens: 4,
    cost_usd: 0.000004,
  })
  const translated = await draining(t)
  const first = begun(...[START, BLOCK, delta('Hel')].map(event))
  await leave(translated, { model: 't', stream: true }, first, ended(...[delta('lo'), ...END].map(event)), 'Hel')
  t.match(await translated.ended.count(1), [{ phase: 'cancelled', begun: true, total: 11, events: 2 }])
})

t.test('its own usage is charged, though what was delivered looks like more', async t => {
  const texts = Array.from({ length: 30 }, () => chatEvent('word'))
  const relayed = await draining(t)
  await leave(relayed, { stream: true }, begun(...texts, chatEvent('last')), ended(USED, DONE), 'last')
  t.match(await relayed.gateway.log.find(({ msg }) => msg === 'request'), { cost_usd: 0.000004 })
  const translated = await draining(t)
  const events = [START, BLOCK, ...Array.from({ length: 30 }, () => delta('word')), delta('last')].map(event)
  await leave(translated, { model: 't', stream: true }, begun(...events), ended(...END.map(event)), 'last')
  t.match(await translated.gateway.log.find(({ msg }) => msg === 'request'), { cost_usd: 0.000004 })
})

t.test('answers whose client left before they began', async t => {
  const nothing: Script = () => undefined
  for (const [body, answer, output] of [
    [{}, json({ ...CHAT_ANSWER, usage: USAGE }), 4],
    [{ model: 't' }, json(MESSAGE), 4],
    [
      { stream: true },
      async peer => {
        await begun(chatEvent('one'), USED)(peer)
        await ended(DONE)(peer)
      },
      4,
    ],
    [
      { model: 't', stream: true },
      async peer => {
        await begun(event(START))(peer)
        await ended(...END.map(event))(peer)
      },
      4,
    ],
  ] as const satisfies readonly (readonly [object, Script, number])[]) {
    const stage = await draining(t)
    await leave(stage, body, nothing, answer)
    t.match(await stage.ended.count(1), [
      { phase: 'cancelled', status: 200, begun: false, bytes: 0, events: 0, input: 7, output },
    ])
  }
})

t.test('the process waits for it as for a request, and cuts it off at the same time', async t => {
  const stage = await draining(t)
  await leave(stage, { stream: true }, begun(chatEvent('one')), ended(USED, DONE), 'one')
  await stage.gateway.gateway.close()
  t.match(stage.ended.items, [{ total: 11 }])
  const silent = await draining(t, 'limits: { drain: 50ms }\n')
  await leave(silent, { stream: true }, begun(chatEvent('one')), peer => peer.gone(), 'one')
  await silent.gateway.gateway.close()
  t.match(silent.ended.items, [{ phase: 'cancelled', total: undefined, begun: true }])
})

t.test('it ends with the total time-out, and with the largest answer', async t => {
  const slow = await draining(t, 'timeouts: { total: 300ms }\n')
  await leave(slow, { stream: true }, begun(chatEvent('one')), peer => peer.gone(), 'one')
  t.match(await slow.ended.count(1), [{ phase: 'cancelled', begun: true }])
  const large = await draining(t, 'limits: { response: 64KiB }\n')
  const flood: Script = async peer => {
    for (let sent = 0; sent < 256 && !peer.socket.destroyed; sent++)
      await peer.send(chunk(chatEvent('x'.repeat(1024)))).catch(() => undefined)
  }
  await leave(large, { stream: true }, begun(chatEvent('one')), flood, 'one')
  t.match(await large.ended.count(1), [{ phase: 'cancelled', begun: true, total: undefined }])
})

t.test('a reload leaves the pool open until it is read', async t => {
  const stage = await draining(t)
  const { promise: reloaded, resolve } = withResolvers<void>()
  await leave(
    stage,
    { stream: true },
    begun(chatEvent('one')),
    async peer => {
      await reloaded
      await ended(USED, DONE)(peer)
    },
    'one',
  )
  await stage.gateway.write(
    'gateway.yaml',
    `version: 1\n${CALLER}\nupstreams: { sim: { kind: simulator } }\nmodels: { m: sim }\n`,
  )
  await stage.gateway.gateway.reload()
  resolve()
  t.match(await stage.ended.count(1), [{ total: 11 }])
})

t.test('without that word the upstream is left at once', async t => {
  const stage = await draining(t, '', 'cancel')
  const leaving = leave(stage, { stream: true }, begun(chatEvent('one')), ended(USED, DONE), 'one')
  await t.rejects(leaving, { message: 'too early: before 1,after 1,settle' })
  t.match(await stage.ended.count(1), [{ phase: 'cancelled', begun: true, total: undefined }])
})

t.test('a call whose answer ends in the moment in which its client goes is recorded once', async t => {
  const recorded: string[] = []
  const work = { check: () => undefined, abandon: () => undefined }
  const features = withStage({
    name: 'recorder',
    admit: call => call.cancellation.add({ cancel: () => new Drain(call, work).end() }),
    record: ({ id }) => void recorded.push(id),
  })
  const up = await startRawUpstream(t)
  up.answer(peer => peer.gone())
  const yaml = `version: 1\n${CALLER}\nupstreams: { up: ${upstreamYaml(up.origin)} }\nmodels: { m: up }\n`
  const gateway = await startTestGateway(t, yaml, { features })
  for (const number of [1, 2]) {
    const client = await gateway.open('/v1/chat/completions', { body: CHAT })
    await up.requests.count(number)
    client.socket.destroy()
    await gateway.log.count(number, ({ msg }) => msg === 'request')
  }
  await gateway.gateway.close()
  t.equal(recorded.length, 2)
  t.equal(new Set(recorded).size, 2)
})

t.test(
  'the end of the process waits until an attempt that outlived its call is recorded, and then the call',
  async t => {
    const order: string[] = []
    let idle: () => Promise<void> = async () => undefined
    const { promise: left, resolve: leaves } = withResolvers<void>()
    const recorder: Feature = {
      name: 'recorder',
      open(kernel) {
        idle = () => kernel.idle()
        return {}
      },
      compile: ({ route }) =>
        route?.caller === undefined
          ? undefined
          : {
              name: 'recorder',
              beforeAttempt: () => undefined,
              recordAttempt: ({ usage }, { phase }) => void order.push(`${phase} ${usage?.total}`),
              settle: () => leaves(),
              record: ({ usage }) => void order.push(`call ${usage?.total}`),
            },
    }
    const up = await startRawUpstream(t)
    const { promise: ready, resolve: answer } = withResolvers<void>()
    up.answer(async peer => {
      await ready
      await json({ ...CHAT_ANSWER, usage: USAGE })(peer)
    })
    const upstreams = `upstreams: { up: ${upstreamYaml(up.origin, 'on_client_abort: drain')} }\n`
    const yaml = `version: 1\n${CALLER}\n${upstreams}models: { m: up }\nprices: { m: { output: 1 } }\n`
    const gateway = await startTestGateway(t, yaml, { features: withFeature(recorder) })
    const client = await gateway.open('/v1/chat/completions', { body: CHAT })
    await up.requests.count(1)
    client.socket.destroy()
    await left
    const waited = idle().then(() => order.push('idle'))
    answer()
    await waited
    t.same(order, ['cancelled 11', 'call 11', 'idle'])
  },
)
