import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import type { LedgerRecord } from '../../src/core/ledger.js'
import type { Feature } from '../../src/kernel/stages.js'
import { textFrame } from '../../src/wire/frames.js'
import { CHAT_ANSWER, json } from '../helpers/answers.js'
import { CALLER, startTestGateway, type TestGateway, upstreamYaml } from '../helpers/gateway.js'
import { ledgerRecords } from '../helpers/ledger-records.js'
import { withFeature } from '../helpers/metered.js'
import { startRawUpstream } from '../helpers/raw-upstream.js'
import { lineOf, open, realtimeYaml, startSocketUpstream } from '../helpers/realtime.js'

/** What runs longer than its request: tasks and sessions; and what each answer says of the limits. */

const BUDGET = '{ secret: { env: CALLER_KEY }, models: ["*"], limits: { budget: 1 USD/day } }'

async function films(t: Test, budget = '1 USD'): Promise<TestGateway> {
  return startTestGateway(
    t,
    `version: 1
store: { type: file, path: ./data }
keys:
  caller: ${BUDGET.replace('1 USD', budget)}
upstreams: { sim: { kind: simulator, tasks: { poll: { every: 20ms } } } }
models: { "sim-video?*": sim, film: { upstream: sim, as: "sim-video?takes=60ms" }, lost: { upstream: sim, as: "sim-video?takes=20ms&ends=failed" } }
prices: { film: { video_second: 0.10 }, lost: { video_second: 0.10 } }
`,
  )
}

async function film(gateway: TestGateway, model: string, seconds?: string): Promise<{ status: number; id: string }> {
  const answer = await gateway.request('/v1/videos', { body: { model, prompt: 'A dog', seconds } })
  return { status: answer.status, id: (answer.json() as { id?: string }).id ?? '' }
}

/** Polls until the task has ended, more often than it needs. */
async function ended(gateway: TestGateway, id: string): Promise<string> {
  for (;;) {
    const { status } = (await gateway.request(`/v1/videos/${id}`)).json() as { status: string }
    if (status === 'completed' || status === 'failed') return status
  }
}

async function closed({ gateway }: TestGateway): Promise<readonly LedgerRecord[]> {
  const { plan } = gateway
  await gateway.close()
  return ledgerRecords({ gateway: { plan } })
}

t.test(
  'F-A8 a task is charged once, when it has succeeded; polling is free, and its budget is reserved meanwhile',
  async t => {
    const gateway = await films(t)
    const first = await film(gateway, 'film', '8')
    t.equal(first.status, 200)
    t.equal((await film(gateway, 'film', '4')).status, 429, '0.80 USD are reserved')
    t.equal(await ended(gateway, first.id), 'completed')
    t.equal((await film(gateway, 'film', '4')).status, 429, '0.80 USD are spent')
    const records = await closed(gateway)
    t.equal(records.length, 1)
    t.match(records[0], { cost: 800_000, units: { video_second: 8 }, key: 'caller', model: 'film', outcome: 'ok' })
  },
)

t.test('a video is charged by the seconds that its upstream says, be it one or the change of one', async t => {
  const gateway = await films(t, '10 USD')
  const { id } = await film(gateway, 'film')
  t.equal(await ended(gateway, id), 'completed')
  const remix = await gateway.request(`/v1/videos/${id}/remix`, { body: { prompt: 'A cat' } })
  t.equal(await ended(gateway, (remix.json() as { id: string }).id), 'completed')
  const records = await closed(gateway)
  t.match(records, [
    { cost: 400_000, units: { video_second: 4 } },
    { cost: 400_000, units: { video_second: 4 } },
  ])
  t.ok(records.every(({ estimated }) => estimated === undefined))
})

t.test('a video whose seconds no one tells costs the longest, and its entry says so', async t => {
  const up = await startRawUpstream(t)
  up.answer(json({ id: 'v1', status: 'queued' }), json({ id: 'v1', status: 'completed', url: `${up.origin}/v1` }))
  const gateway = await startTestGateway(
    t,
    `version: 1
store: { type: file, path: ./data }
keys: { caller: { secret: { env: CALLER_KEY }, models: ["*"] } }
upstreams:
  up:
    base: "${up.origin}"
    speaks:
      videos: { call: POST /videos, task: { result: url, poll: { every: 20ms } } }
      videos.retrieve: GET /videos/{task_id}
models: { film: up }
prices: { film: { video_second: 0.10 } }
`,
  )
  const { status, id } = await film(gateway, 'film')
  t.equal(status, 200)
  t.equal(await ended(gateway, id), 'completed')
  t.match(await closed(gateway), [{ cost: 1_600_000, units: { video_second: 16 }, estimated: true }])
})

t.test('a task that failed is free', async t => {
  const gateway = await films(t)
  const { id } = await film(gateway, 'lost', '8')
  t.equal(await ended(gateway, id), 'failed')
  await gateway.log.find(line => line.msg === 'task ended' || line.route === 'GET /v1/videos/{task_id}')
  t.strictSame(await closed(gateway), [])
})

t.test('F-A8 a session over its budget ends in order, with an event that says why', async t => {
  const up = await startSocketUpstream(t)
  const yaml = realtimeYaml(up.origin, 'prices: { real-m: &voice { input: 2.00, output: 8.00 }, other: *voice }\n')
  const key = `keys: { caller: ${BUDGET.replace('1 USD', '0.30 USD')} }`
  const gateway = await startTestGateway(t, yaml.replace(CALLER, key))
  const { client, server } = await open(t, { gateway, up })
  const done = (count: number): string =>
    JSON.stringify({ type: 'response.done', response: { usage: { input_tokens: count, output_tokens: count } } })
  server.send(textFrame(done(100), false))
  await client.texts.count(1)
  server.send(textFrame(done(20_000), false))
  await client.texts.count(3)
  t.match(JSON.parse(client.texts.items[2] ?? ''), { type: 'error', error: { code: 'insufficient_quota' } })
  await client.closes.count(1)
  t.equal(client.closes.items[0]?.code, 1008)
})

const HEARD = 'conversation.item.input_audio_transcription.completed'
const heard = (usage: object): Buffer =>
  textFrame(JSON.stringify({ type: HEARD, item_id: 'i', content_index: 0, transcript: 'Hello.', usage }), false)

t.test('F-A8 a session that only transcribes is charged, and ends at its limit', async t => {
  const up = await startSocketUpstream(t)
  const yaml = realtimeYaml(up.origin, 'prices: { real-m: &ear { input: 2.00, audio_second: 0.01 }, other: *ear }\n')
  const key = 'keys: { caller: { secret: { env: CALLER_KEY }, models: ["*"], limits: { tokens: 40000/day } } }'
  const gateway = await startTestGateway(t, yaml.replace('memory', 'file, path: ./data').replace(CALLER, key))
  const { client, server } = await open(t, { gateway, up })
  server.send(heard({ type: 'duration', seconds: 2.5 }))
  server.send(heard({ type: 'tokens', input_tokens: 5000, output_tokens: 50, total_tokens: 5050 }))
  await client.texts.count(2)
  server.send(heard({ type: 'tokens', input_tokens: 5000, output_tokens: 50, total_tokens: 5050 }))
  await client.texts.count(4)
  t.match(JSON.parse(client.texts.items[3] ?? ''), { type: 'error', error: { code: 'rate_limit_exceeded' } })
  t.match(await client.closes.count(1), [{ code: 1008 }])
  for (const { socket } of [client, server]) socket.destroy()
  await gateway.log.find(line => line.msg === 'request')
  t.match(await closed(gateway), [{ units: { input: 10_000, output: 100, audio_second: 2.5 }, cost: 45_000 }])
})

const STORE = fileURLToPath(new URL('../stores/my-store.js', import.meta.url))

for (const tunnel of ['raw', 'framed']) {
  t.test(`a session whose budget cannot be asked for ends in order, and the log says why (${tunnel})`, async t => {
    const up = await startSocketUpstream(t)
    let isAway = false
    const away: Feature = {
      name: 'away',
      open({ store: { accounts } }) {
        const commit = accounts.commit.bind(accounts)
        accounts.commit = one => (isAway ? Promise.reject(new Error('it is away')) : commit(one))
        return {}
      },
      compile: () => undefined,
    }
    const route = `routes: { WS /v1/realtime: { protocol: realtime, model: query.model, tunnel: ${tunnel} } }\n`
    const yaml = realtimeYaml(
      up.origin,
      `${route}prices: { real-m: &voice { input: 2.00, output: 8.00 }, other: *voice }\n`,
    )
    const own = yaml.replace('type: memory', `type: "${STORE}"`).replace(CALLER, `keys: { caller: ${BUDGET} }`)
    const gateway = await startTestGateway(t, own, { features: withFeature(away) })
    const { client, server } = await open(t, { gateway, up })
    isAway = true
    server.send(
      textFrame('{"type":"response.done","response":{"usage":{"input_tokens":90000,"output_tokens":0}}}', false),
    )
    await client.texts.count(2)
    t.match(JSON.parse(client.texts.items[1] ?? ''), { type: 'error', error: { message: /^Limits cannot be checked/ } })
    t.match(await client.closes.count(1), [{ code: 1008 }])
    t.match(await server.closes.count(1), [{ code: 1001 }])
    for (const { socket } of [client, server]) socket.destroy()
    t.match(await lineOf(gateway), { error: 'unavailable', limit: 'store', close: 1008, closed_by: 'gateway' })
    isAway = false
  })
}

t.test(
  'a session costs what its upstream counts, and what was delivered of an answer that was not counted',
  async t => {
    const up = await startSocketUpstream(t)
    const yaml = realtimeYaml(
      up.origin,
      'prices: { real-m: &voice { input: 2.00, output: 8.00, request: 1.00 }, other: *voice }\n',
    )
    const gateway = await startTestGateway(t, yaml.replace('memory', 'file, path: ./data'))
    const used = { input_tokens: 100, output_tokens: 5 }
    const [echo, delta] = [
      { type: 'session.updated', session: 'x'.repeat(5000) },
      { type: 'response.delta', delta: 'x' },
    ]
    const done = { type: 'response.done', response: { usage: used } }
    const sessions = [[echo], [echo, delta, delta, done, echo], [delta, done, delta, delta, echo]]
    for (const [at, events] of sessions.entries()) {
      const { client, server } = await open(t, { gateway, up })
      for (const event of events) server.send(textFrame(JSON.stringify(event), false))
      await client.texts.count(events.length)
      client.socket.destroy()
      await gateway.log.count(at + 1, line => line.msg === 'request')
    }
    t.strictSame(
      (await closed(gateway)).map(({ units, estimated }) => ({ ...units, estimated })),
      [
        { request: 1, estimated: undefined },
        { request: 1, input: 100, output: 5, estimated: undefined },
        { request: 1, input: 100, output: 7, estimated: true },
      ],
    )
  },
)

t.test('rate-limit headers tell the tightest bound, in the words of the family, on every answer', async t => {
  const upstream = await startRawUpstream(t)
  const key = 'limits: { requests: [100/day, 5/hour], tokens: 1M/day }'
  const gateway = await startTestGateway(
    t,
    `version: 1
keys:
  caller: { secret: { env: CALLER_KEY }, models: ["*"], ${key} }
upstreams: { up: ${upstreamYaml(upstream.origin, 'forward: { response: ["x-ratelimit-*"] }')} }
models: { m: up }
`,
  )
  const theirs = {
    'x-ratelimit-limit-requests': '9',
    'x-ratelimit-remaining-requests': '2',
    'x-ratelimit-reset-requests': '1s',
  }
  upstream.answer(json(CHAT_ANSWER), json(CHAT_ANSWER, { headers: theirs }))
  const first = await gateway.chat()
  t.equal(first.header('x-ratelimit-limit-requests'), '5')
  t.equal(first.header('x-ratelimit-remaining-requests'), '4')
  t.match(first.header('x-ratelimit-reset-requests'), /^\d+[ms]/)
  t.equal(first.header('x-ratelimit-limit-tokens'), '1000000')
  t.equal((await gateway.chat()).header('x-ratelimit-remaining-requests'), '2', "the upstream's own leave less")
  const refused = await gateway.request('/v1/chat/completions', { body: {} })
  t.equal(refused.header('x-ratelimit-remaining-requests'), '2')
  const blocks = await gateway.request('/v1/messages', { body: {}, headers: { 'anthropic-version': '2023-06-01' } })
  t.equal(blocks.header('anthropic-ratelimit-requests-remaining'), '1')
  t.match(blocks.header('anthropic-ratelimit-requests-reset'), /^\d{4}-.*Z$/)
  const models = await gateway.request('/v1/models')
  t.equal(models.header('x-ratelimit-remaining-requests'), '1', 'a list of models does not count')
  t.equal((await gateway.request('/v1/embeddings', { body: {} })).header('x-ratelimit-remaining-requests'), '0')
  const last = await gateway.chat()
  t.equal(last.status, 429)
  t.ok(Number(last.header('retry-after')) > 0)
})
