import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import { isStanding } from '../../src/core/health.js'
import { openStore } from '../../src/runtime/stores.js'
import { CHAT_ANSWER, json } from '../helpers/answers.js'
import { CALLER, startTestGateway, upstreamYaml } from '../helpers/gateway.js'
import { startRawUpstream } from '../helpers/raw-upstream.js'
import { heard } from '../helpers/store-events.js'
import { EVERY, storesOf } from '../helpers/store-kinds.js'
import { startHoldingUpstream, WorkingGateway } from '../helpers/workers.js'

// What one process learns of an upstream, the others know.

const LIMITED = json({ error: { message: 'slow down' } }, { status: 429, headers: { 'retry-after': '600' } })

t.test('workers: one of two is asked to wait, and the other waits, too', async t => {
  const first = await startRawUpstream(t)
  first.answer(LIMITED)
  const second = await startHoldingUpstream(t)
  const gateway = await WorkingGateway.start(
    t,
    `keys:
  caller: { secret: { env: CALLER_KEY }, models: ["*"] }
upstreams:
  first: { kind: openai-compatible, base: "${first.origin}", secret: { env: CALLER_KEY } }
  second: { kind: openai-compatible, base: "${second.origin}", secret: { env: CALLER_KEY } }
models:
  m: [first, second]
workers: 2
`,
  )
  t.equal(await gateway.chat(), 200)
  t.equal(first.requests.items.length, 1)
  // Both workers have work meanwhile.
  await Promise.all(Array.from({ length: 20 }, () => gateway.workers()))
  for (let i = 0; i < 30; i++) t.equal(await gateway.chat(), 200)
  t.equal(first.requests.items.length, 1)
  t.equal(second.received, 31)
})

for (const kind of EVERY.filter(({ type }) => type === 'redis' || type === 'postgres')) {
  const storeOf = storesOf(t, kind)
  t.test(`gateways of one ${kind.type}: one that starts reads what another has learned`, async t => {
    const first = await startRawUpstream(t)
    const second = await startRawUpstream(t, { host: '127.0.0.2' })
    first.answer(LIMITED)
    second.answer(json(CHAT_ANSWER))
    const yaml = `version: 1
${CALLER}
upstreams:
  first: ${upstreamYaml(first.origin)}
  second: ${upstreamYaml(second.origin)}
models: { m: [first, second] }
store: ${await storeOf(t)}
`
    // An upstream with another secret is another one.
    const env = { UPSTREAM_KEY: 'one-secret-of-all-gateways' }
    const one = await startTestGateway(t, yaml, { env })
    t.equal((await one.chat()).status, 200)
    const store = await openStore(one.gateway.plan.store, heard().events)
    t.teardown(() => store.close())
    const written = async (): Promise<unknown> => {
      const record = await store.get('health', 'gateways', 'standings')
      return record === undefined ? undefined : JSON.parse(Buffer.from(record.value).toString('utf8'))
    }
    let known = await written()
    for (; known === undefined; known = await written()) await delay(20)
    t.match(known, [
      { upstream: 'first', definition: /^[0-9a-f]{12}$/, model: 'm', isOpen: true, reason: 'status 429' },
    ])
    t.ok((known as unknown[]).every(isStanding))

    const other = await startTestGateway(t, yaml, { env })
    const resting = async (): Promise<object> =>
      ((await other.request('/readyz?verbose', { method: 'GET' })).json() as { resting: object }).resting
    while (Object.keys(await resting()).length === 0) await delay(20)
    for (let i = 0; i < 10; i++) t.equal((await other.chat()).status, 200)
    t.equal(first.requests.items.length, 1, 'only the first gateway has asked')
  })
}

t.test('only standings are taken over', async t => {
  const sound = { upstream: 'a', definition: 'd', isOpen: true, until: 1, openings: 1, changed: 1, reason: 'x' }
  t.ok(isStanding(sound))
  t.ok(isStanding({ ...sound, model: 'm', credential: 'c' }))
  for (const odd of [
    null,
    1,
    {},
    { ...sound, until: 'x' },
    { ...sound, upstream: 1 },
    { ...sound, definition: undefined },
    { ...sound, model: 2 },
  ]) {
    t.notOk(isStanding(odd))
  }
})
