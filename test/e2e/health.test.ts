import t, { type Test } from 'tap'
import { ADMIN_SECRET, adminLine, adminOf } from '../helpers/admin.js'
import { CHAT_ANSWER, hang, json, reset } from '../helpers/answers.js'
import { CALLER, CHAT, startTestGateway, type TestGateway, upstreamYaml } from '../helpers/gateway.js'
import { hangingOrigin, refusingOrigin } from '../helpers/hanging-port.js'
import { type RawUpstream, type Script, startRawUpstream } from '../helpers/raw-upstream.js'

type Noted = readonly { readonly upstream: string }[]

interface Two {
  readonly gateway: TestGateway
  /** The second target, which is sound. */
  readonly second: RawUpstream
}

/** Models whose first target is at this origin. */
async function withSecond(t: Test, first: string, more = '', models: readonly string[] = ['m']): Promise<Two> {
  const second = await startRawUpstream(t, { host: '127.0.0.2' })
  second.answer(json(CHAT_ANSWER))
  const upstreams = `upstreams:\n  first: ${upstreamYaml(first)}\n  second: ${upstreamYaml(second.origin)}\n`
  const targets = models.map(model => `${model}: [first, second]`).join(', ')
  const gateway = await startTestGateway(t, `version: 1\n${CALLER}\n${upstreams}models: { ${targets} }\n${more}`)
  return { gateway, second }
}

/** How many of so many requests, one after the other, asked the first target; each must have been answered. */
async function asked(t: Test, { gateway }: Two, requests: number, model = 'm'): Promise<number> {
  const ids = new Set<unknown>()
  for (let i = 0; i < requests; i++) {
    const answer = await gateway.chat({ model })
    t.equal(answer.status, 200)
    ids.add(answer.header('x-request-id'))
  }
  const lines = await gateway.log.count(requests, line => line.msg === 'request' && ids.has(line.id))
  const firstAsked = lines.map(({ attempts, upstream }) => (attempts as Noted | undefined)?.[0]?.upstream ?? upstream)
  return firstAsked.filter(name => name === 'first').length
}

/** Changes of health that the log tells. */
function changes(gateway: TestGateway): readonly unknown[] {
  return gateway.log.items
    .filter(line => line.health !== undefined)
    .map(({ health, upstream, model, reason }) => ({ health, upstream, model, reason }))
}

/** On a slow machine, too, the pause lasts longer than the test. */
const PATIENT = 'health: { cooldown: 60s }\n'

const FAILED: Script = json({ error: { message: 'no' } }, { status: 503 })

t.test('F-U1 G11 of 200 requests 5 ask a dead first target', async t => {
  const two = await withSecond(t, await refusingOrigin(), PATIENT)
  t.equal(await asked(t, two, 200), 5)
  t.same(changes(two.gateway), [{ health: 'open', upstream: 'first', model: undefined, reason: 'connect' }])
})

t.test('F-U2 G11 of 200 requests 5 ask a blackholed first target', async t => {
  const two = await withSecond(t, await hangingOrigin(t), `${PATIENT}timeouts: { connect: 200ms }\n`)
  t.equal(await asked(t, two, 200), 5)
})

t.test('F-U2 requests that wait for a connection leave when the upstream turns out to be unreachable', async t => {
  // Their own time-out is far beyond that of this file: what a probe finds has to reach them.
  const first = await hangingOrigin(t)
  const second = await startRawUpstream(t, { host: '127.0.0.2' })
  second.answer(json(CHAT_ANSWER))
  const probed = '{ failures: 1, cooldown: 60s, probe: { every: 500ms, timeout: 100ms } }'
  const upstreams = [
    `first: { kind: openai-compatible, base: "${first}", secret: { env: UPSTREAM_KEY }, health: ${probed} }`,
    `second: ${upstreamYaml(second.origin)}`,
  ]
  const yaml = `version: 1\n${CALLER}\nupstreams:\n  ${upstreams.join('\n  ')}\nmodels: { m: [first, second] }\ntimeouts: { connect: 10m }\n`
  const gateway = await startTestGateway(t, yaml)
  const answers = await Promise.all(Array.from({ length: 30 }, () => gateway.chat()))
  t.ok(answers.every(({ status }) => status === 200))
  t.equal(second.requests.items.length, 30)
  const lines = await gateway.log.count(30, line => line.msg === 'request')
  const left = lines.filter(({ attempts }) => (attempts as Noted | undefined)?.[0]?.upstream === 'first')
  t.ok(left.length > 0, 'some were waiting')
})

t.test(
  'F-U1 F-U2 G11 of the requests after the 5th none tries to connect to a dead or blackholed first target',
  async t => {
    const origins = { dead: await refusingOrigin(), blackholed: await hangingOrigin(t) }
    for (const [how, origin] of Object.entries(origins)) {
      const two = await withSecond(t, origin, `${PATIENT}timeouts: { connect: 200ms }\n`)
      t.equal(await asked(t, two, 5), 5, `${how}: the first five`)
      const answers = await Promise.all(Array.from({ length: 100 }, () => two.gateway.chat()))
      t.ok(answers.every(({ status }) => status === 200))
      const lines = await two.gateway.log.count(105, line => line.msg === 'request')
      t.notOk(
        lines.slice(5).some(({ attempts }) => attempts !== undefined),
        `${how}: one attempt each`,
      )
      t.equal(two.second.requests.items.length, 105)
    }
  },
)

t.test('a blackholed upstream costs all of its models together what it costs one', async t => {
  const models = Array.from({ length: 20 }, (_, index) => `m${index}`)
  const two = await withSecond(t, await hangingOrigin(t), `${PATIENT}timeouts: { connect: 200ms }\n`, models)
  let count = 0
  for (const model of models) count += await asked(t, two, 2, model)
  t.equal(count, 5)
})

t.test('a dead proxy on the way to an upstream costs all of its models together what it costs one', async t => {
  const first = await startRawUpstream(t)
  const models = Array.from({ length: 10 }, (_, index) => `m${index}`)
  const egress = `egress: { proxy: { url: "${await refusingOrigin()}", except: [127.0.0.2] } }\n`
  const two = await withSecond(t, first.origin, PATIENT + egress, models)
  let count = 0
  for (const model of models) count += await asked(t, two, 2, model)
  t.equal(count, 5)
  t.same(changes(two.gateway), [{ health: 'open', upstream: 'first', model: undefined, reason: 'proxy' }])
})

t.test('F-U3 an upstream that hangs is left after so many failures', async t => {
  const first = await startRawUpstream(t)
  first.answer(hang)
  const two = await withSecond(
    t,
    first.origin,
    'timeouts: { first_byte: 100ms }\nretry: { on: [first_byte] }\nhealth: { failures: 3, cooldown: 60s }\n',
  )
  t.equal(await asked(t, two, 30), 3)
  t.equal(first.requests.items.length, 3)
})

t.test('F-U10 after 429 with retry-after the target rests for that long, and only for this model', async t => {
  const first = await startRawUpstream(t)
  const limited: Script = json({ error: { message: 'slow down' } }, { status: 429, headers: { 'retry-after': '600' } })
  const two = await withSecond(t, first.origin, '', ['m', 'other'])
  first.answer(limited, json(CHAT_ANSWER))
  t.equal(await asked(t, two, 20, 'm'), 1)
  t.equal(await asked(t, two, 20, 'other'), 20)
  t.same(changes(two.gateway), [{ health: 'open', upstream: 'first', model: 'm', reason: 'status 429' }])
})

t.test('a 429 that says no time is a failure as others are', async t => {
  const first = await startRawUpstream(t)
  first.answer(json({ error: { message: 'slow down' } }, { status: 429 }))
  const two = await withSecond(t, first.origin, PATIENT)
  t.equal(await asked(t, two, 20), 5)
  t.same(changes(two.gateway), [{ health: 'open', upstream: 'first', model: 'm', reason: 'status 429' }])
})

t.test('it is asked again when the pause is over: one request shows that it answers', async t => {
  const first = await startRawUpstream(t)
  first.answer(FAILED)
  const two = await withSecond(t, first.origin, 'health: { failures: 2, cooldown: 100ms }\n')
  t.equal(await asked(t, two, 2), 2)
  first.answer(json(CHAT_ANSWER))
  for (let i = 0; first.requests.items.length === 2 && i < 10_000; i++) await two.gateway.chat()
  const again = first.requests.items.length
  t.equal(again, 3)
  t.equal(await asked(t, two, 10), 10)
  t.same(
    changes(two.gateway).map(change => (change as { health: string }).health),
    ['open', 'closed'],
  )
})

t.test('while one request tries a half-open target the others pass it by', async t => {
  const first = await startRawUpstream(t)
  first.answer(FAILED)
  const two = await withSecond(t, first.origin, 'health: { failures: 2, cooldown: 50ms }\n')
  t.equal(await asked(t, two, 2), 2)
  first.answer(hang)
  const probes: Promise<unknown>[] = []
  // Whichever request it is that becomes the probe: it hangs.
  while (first.requests.items.length === 2) {
    const answer = two.gateway.chat()
    probes.push(answer)
    await Promise.race([answer, first.requests.count(3)])
  }
  t.equal(first.requests.items.length, 3)
  t.equal(await asked(t, two, 20), 0)
  t.equal(first.requests.items.length, 3)
  first.connections.items.at(-1)?.resetAndDestroy()
  await Promise.all(probes)
})

t.test('where all targets fail each request still asks one', async t => {
  const first = await startRawUpstream(t)
  const other = await startRawUpstream(t, { host: '127.0.0.3' })
  first.answer(FAILED)
  other.answer(FAILED)
  const upstreams = `upstreams:\n  first: ${upstreamYaml(first.origin)}\n  other: ${upstreamYaml(other.origin)}\n`
  const yaml = `version: 1\n${CALLER}\n${upstreams}models: { m: [first, other] }\nhealth: { cooldown: 1h, max_cooldown: 1h }\n`
  const gateway = await startTestGateway(t, yaml)
  for (let i = 0; i < 20; i++) t.equal((await gateway.chat()).status, 503)
  other.answer(json(CHAT_ANSWER))
  t.equal((await gateway.chat()).status, 200, 'the only one that answers is found')
  const before = first.requests.items.length
  for (let i = 0; i < 20; i++) t.equal((await gateway.chat()).status, 200)
  t.equal(first.requests.items.length, before)
})

t.test('a refused secret is counted for the upstream as a whole', async t => {
  const first = await startRawUpstream(t)
  first.answer(json({ error: { message: 'who are you' } }, { status: 401 }))
  const models = Array.from({ length: 10 }, (_, index) => `m${index}`)
  const two = await withSecond(t, first.origin, `${PATIENT}retry: { on: [401] }\n`, models)
  let count = 0
  for (const model of models) count += await asked(t, two, 2, model)
  t.equal(count, 5)
})

t.test('a credential that cannot be had is counted for all models that need it, by its name', async t => {
  const first = await startRawUpstream(t)
  const second = await startRawUpstream(t, { host: '127.0.0.2' })
  second.answer(json(CHAT_ANSWER))
  const credential = `{ type: oauth2, token_url: "${await refusingOrigin()}/token", client_id: gateway, secret: { env: UPSTREAM_KEY } }`
  const upstreams = [
    `first: { kind: openai-compatible, base: "${first.origin}", credential: ${credential} }`,
    `second: ${upstreamYaml(second.origin)}`,
  ]
  const gateway = await startTestGateway(
    t,
    `version: 1\n${CALLER}\nupstreams:\n  ${upstreams.join('\n  ')}\nmodels: { m: [first, second], other: [first, second] }\n${PATIENT}`,
  )
  let count = 0
  for (const model of ['m', 'other']) count += await asked(t, { gateway, second }, 4, model)
  t.equal(count, 5)
  t.equal(first.requests.items.length, 0)
  t.same(changes(gateway), [{ health: 'open', upstream: 'first', model: undefined, reason: 'credential' }])
})

t.test("mistakes of clients, clients that leave and the gateway's own wants change nothing", async t => {
  const first = await startRawUpstream(t)
  first.answer(json({ error: { message: 'bad' } }, { status: 400 }))
  const two = await withSecond(t, first.origin)
  for (let i = 0; i < 10; i++) t.equal((await two.gateway.chat()).status, 400)
  first.answer(hang)
  for (let i = 0; i < 10; i++) {
    const client = await two.gateway.open('/v1/chat/completions', { body: CHAT })
    await first.requests.count(11 + i)
    client.socket.destroy()
    await first.aborts.count(i + 1)
  }
  await two.gateway.log.count(20, line => line.msg === 'request')
  first.answer(json(CHAT_ANSWER))
  t.equal(await asked(t, two, 10), 10)
  t.same(changes(two.gateway), [])
})

t.test('flapping: each further pause is longer', async t => {
  const first = await startRawUpstream(t)
  first.answer(reset)
  const two = await withSecond(t, first.origin, 'health: { failures: 1, cooldown: 20ms }\n')
  for (let i = 0; i < 4; i++) {
    first.answer(reset)
    const opened = (): number =>
      changes(two.gateway).filter(one => (one as { health: string }).health === 'open').length
    for (let n = 0; opened() === i && n < 10_000; n++) await two.gateway.chat()
    first.answer(json(CHAT_ANSWER))
    const closed = (): number => changes(two.gateway).length
    for (let n = 0; closed() < 2 * (i + 1) && n < 10_000; n++) await two.gateway.chat()
  }
  const pauses = two.gateway.log.items.flatMap(line => (line.health === 'open' ? [Number(line.pause)] : []))
  t.equal(pauses.length, 4)
  for (const [index, pause] of pauses.entries()) {
    t.ok(pause >= 20 * 2 ** index && pause <= 20 * 2 ** index * 1.2 + 1, `pause ${index}: ${pause} ms`)
  }
})

t.test('off: every request asks the first target', async t => {
  const first = await startRawUpstream(t)
  first.answer(FAILED)
  const two = await withSecond(t, first.origin, 'health: off\n')
  t.equal(await asked(t, two, 20), 20)
})

t.test('what rests is shown by the admin API, and to keys whose models lead there', async t => {
  const first = await startRawUpstream(t)
  const second = await startRawUpstream(t, { host: '127.0.0.2' })
  first.answer(FAILED)
  second.answer(json(CHAT_ANSWER))
  const { line, origin } = await adminLine()
  const yaml = `version: 1
keys:
  caller: { secret: { env: CALLER_KEY }, models: ["*"] }
  stranger: { secret: { env: STRANGER_KEY }, models: [own] }
upstreams:
  first: ${upstreamYaml(first.origin)}
  second: ${upstreamYaml(second.origin)}
  dead: ${upstreamYaml(await refusingOrigin())}
models: { m: [first, second], d: [dead, second], own: second }
${line}
`
  const env = { GATEWAY_ADMIN_KEY: ADMIN_SECRET, STRANGER_KEY: 'a-key-of-somebody-else-000000001' }
  const gateway = await startTestGateway(t, yaml, { env })
  for (let i = 0; i < 5; i++) await gateway.chat()
  for (let i = 0; i < 5; i++) await gateway.chat({ model: 'd' })
  const answer = await adminOf(t, origin)('GET', '/admin/upstreams')
  t.match(answer.json(), {
    data: [
      {
        name: 'first',
        health: { state: 'closed', models: [{ model: 'm', state: 'open', reason: 'status 503', until: Number }] },
      },
      { name: 'second', health: { state: 'closed' } },
      { name: 'dead', health: { state: 'open', reason: 'connect', until: Number } },
    ],
  })
  const resting = async (key: string): Promise<unknown> =>
    ((await gateway.request('/readyz?verbose', { method: 'GET', key })).json() as { resting?: unknown }).resting
  t.same(await resting(gateway.key), { first: '1 model: status 503', dead: 'connect' })
  t.same(await resting(env.STRANGER_KEY), {})
  t.equal(await resting('nobody'), undefined)
})
