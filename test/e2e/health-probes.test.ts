import t, { type Test } from 'tap'
import { CHAT_ANSWER, hang, json } from '../helpers/answers.js'
import { CALLER, startTestGateway, type TestGateway } from '../helpers/gateway.js'
import { type RawUpstream, type Script, startRawUpstream } from '../helpers/raw-upstream.js'

// Upstreams are asked whether they answer, also while no client asks for anything.

interface Stage {
  readonly gateway: TestGateway
  readonly first: RawUpstream
  readonly second: RawUpstream
}

async function stage(t: Test, probe: string, answer: Script, more = ''): Promise<Stage> {
  const first = await startRawUpstream(t)
  const second = await startRawUpstream(t, { host: '127.0.0.2' })
  first.answer(answer)
  second.answer(json(CHAT_ANSWER))
  const upstreams = [
    `  first: { kind: openai-compatible, base: "${first.origin}", secret: { env: UPSTREAM_KEY }, health: { probe: ${probe}, failures: 3${more} } }`,
    `  second: { kind: openai-compatible, base: "${second.origin}", secret: { env: UPSTREAM_KEY } }`,
  ]
  const yaml = `version: 1\n${CALLER}\nupstreams:\n${upstreams.join('\n')}\nmodels: { m: [first, second] }\n`
  return { gateway: await startTestGateway(t, yaml), first, second }
}

const FAILED = json({ error: { message: 'no' } }, { status: 503 })
const LIST = json({ data: [] })

t.test('an upstream that fails its probes is passed by before a request has failed there, and comes back', async t => {
  const { gateway, first, second } = await stage(t, '{ every: 20ms }', FAILED)
  const opened = await gateway.log.find(line => line.health === 'open')
  t.match(opened, { upstream: 'first', reason: 'probe: status 503' })
  t.match(first.requests.items[0], { method: 'GET', target: '/v1/models' })
  t.equal((await gateway.chat()).status, 200)
  t.equal(second.requests.items.length, 1)
  t.notOk(first.requests.items.some(({ method }) => method === 'POST'))
  first.answer(LIST)
  await gateway.log.find(line => line.health === 'closed')
  first.answer(json(CHAT_ANSWER))
  const asked = (): boolean => first.requests.items.some(({ method }) => method === 'POST')
  for (let i = 0; !asked() && i < 1000; i++) await gateway.chat()
  t.ok(asked())
})

t.test('one declared request may be the probe', async t => {
  const body = '{ model: tiny, max_tokens: 1 }'
  const { first } = await stage(t, `{ every: 20ms, call: "POST /v1/tiny?x=1", body: ${body} }`, json(CHAT_ANSWER))
  const [probe] = await first.requests.count(2)
  t.match(probe, { method: 'POST', target: '/v1/tiny?x=1' })
  t.same(probe?.json(), { model: 'tiny', max_tokens: 1 })
  t.match(probe?.header('authorization'), /^Bearer canary-upstream/)
})

t.test('a probe that hangs is the only one under way, and fails after its time', async t => {
  const { gateway, first } = await stage(t, '{ every: 10ms, timeout: 300ms }', hang)
  await gateway.log.find(line => line.health === 'open' && line.reason === 'probe: first_byte')
  const { items } = first.requests
  // Each was given up before the next one began.
  t.ok(items.length >= 3 && items.length - first.aborts.items.length <= 1)
})

t.test('a status under 500 is an answer; a refused secret is one of the secret', async t => {
  const missing = await stage(t, '{ every: 10ms }', json({ error: { message: 'none' } }, { status: 404 }))
  await missing.first.requests.count(10)
  t.notOk(missing.gateway.log.items.some(line => line.health === 'open'))
  const refused = await stage(t, '{ every: 10ms }', json({ error: { message: 'who' } }, { status: 401 }))
  const line = await refused.gateway.log.find(one => one.health === 'open')
  t.match(line, { upstream: 'first', credential: /^[0-9a-f]{12}$/, reason: 'probe: status 401' })
})

t.test('a reload that takes the probe out ends it', async t => {
  const { gateway, first, second } = await stage(t, '{ every: 10ms }', LIST)
  await first.requests.count(3)
  const upstreams = [first, second].map(
    ({ origin }, index) => `  u${index}: { kind: openai-compatible, base: "${origin}", secret: { env: UPSTREAM_KEY } }`,
  )
  await gateway.write('gateway.yaml', `version: 1\n${CALLER}\nupstreams:\n${upstreams.join('\n')}\nmodels: { m: u1 }\n`)
  await gateway.gateway.reload()
  for (let i = 0; i < 20; i++) await gateway.chat()
  const before = first.requests.items.length
  for (let i = 0; i < 20; i++) await gateway.chat()
  t.equal(first.requests.items.length, before)
})

interface Pair {
  readonly gateway: TestGateway
  readonly first: RawUpstream
  readonly second: RawUpstream
  /** Reloads with these settings of the first upstream; absent: without it. */
  load(settings?: string): Promise<void>
  /** So many further probes of the second one. */
  later(probes: number): Promise<void>
}

/** Two upstreams; the probes of the second one are the clock. */
async function pair(t: Test, settings: string): Promise<Pair> {
  const first = await startRawUpstream(t)
  const second = await startRawUpstream(t, { host: '127.0.0.2' })
  first.answer(LIST)
  second.answer(LIST)
  const base = 'kind: openai-compatible, secret: { env: UPSTREAM_KEY }'
  const yaml = (more?: string): string => {
    const own = more === undefined ? '' : `  first: { ${base}, base: "${first.origin}", ${more} }\n`
    const other = `  second: { ${base}, base: "${second.origin}", health: { probe: { every: 10ms } } }\n`
    const models = more === undefined ? '{ m: second }' : '{ m: second, n: first }'
    return `version: 1\n${CALLER}\nupstreams:\n${own}${other}models: ${models}\n`
  }
  const gateway = await startTestGateway(t, yaml(settings))
  const load = async (more?: string): Promise<void> => {
    await gateway.write('gateway.yaml', yaml(more))
    await gateway.gateway.reload()
  }
  const later = async (probes: number): Promise<void> => {
    await second.requests.count(second.requests.items.length + probes)
  }
  return { gateway, first, second, load, later }
}

t.test('an upstream that goes and comes back while it is asked has one probe under way', async t => {
  const { first, load, later } = await pair(t, 'health: { probe: { every: 10ms } }')
  first.answer(hang)
  const asked = await first.requests.count(1)
  t.equal(asked.length, 1)
  await load()
  await load('health: { probe: { every: 10ms } }')
  await later(20)
  t.equal(first.requests.items.length, 1)
})

t.test('a reload that shortens the time between two probes need not wait for the old one to pass', async t => {
  const { first, load } = await pair(t, 'health: { probe: { every: 1h } }')
  await load('health: { probe: { every: 10ms } }')
  t.ok(await first.requests.count(3))
})

t.test(
  'an upstream that is switched off is not asked, although a request of the old configuration is running',
  async t => {
    const { gateway, first, load, later } = await pair(t, 'health: { probe: { every: 10ms } }')
    await first.requests.count(2)
    first.answer(peer => (peer.request.method === 'POST' ? hang(peer) : LIST(peer)))
    const running = gateway.chat({ model: 'n' }).catch(() => undefined)
    await first.requests.find(({ method }) => method === 'POST')
    await load('disabled: true, health: { probe: { every: 10ms } }')
    // One may have been under way.
    await later(5)
    const before = first.requests.items.length
    await later(20)
    t.equal(first.requests.items.length, before)
    await gateway.gateway.close()
    await running
  },
)

t.test('a probe for which there is not a credential says something of the credential alone', async t => {
  const upstream = await startRawUpstream(t)
  const credential = '{ type: exec, command: [/nowhere/print-token] }'
  const up = `{ kind: openai-compatible, base: "${upstream.origin}", credential: ${credential}, health: { probe: { every: 10ms }, failures: 2 } }`
  const gateway = await startTestGateway(t, `version: 1\n${CALLER}\nupstreams: { up: ${up} }\nmodels: { m: up }\n`)
  const line = await gateway.log.find(one => one.health === 'open')
  t.match(line, { upstream: 'up', credential: '', reason: 'probe: credential' })
})
