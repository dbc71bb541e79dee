import t, { type Test } from 'tap'
import { canary, proveNoLeak } from '../helpers/canaries.js'
import { compatibleError } from '../helpers/expect.js'
import { clockAhead } from '../helpers/fast-clock.js'
import { startTestGateway } from '../helpers/gateway.js'
import { imageProxy, imageYaml } from '../helpers/image-upstream.js'
import { DURABLE, storesOf } from '../helpers/store-kinds.js'
import { compatible, filmYaml, held, startTaskUpstream } from '../helpers/task-upstream.js'

// Idempotency-Key on every store: what a second request with a key gets, and when.

t.setTimeout(120_000)

const CAT = { model: 'film', prompt: 'A cat' }
const DOG = { model: 'film', prompt: 'A dog' }
const headers = { 'idempotency-key': 'order-1' }

/** An upstream whose first submit is answered when the test says so. */
async function slow(t: Test) {
  const { script, ...gate } = held(compatible({ status: 'running' }), (_, self) => self.submits.length === 1)
  return { upstream: await startTaskUpstream(t, script), ...gate }
}

const memory = { type: 'memory', skip: false, open: async () => '{ type: memory }' } as const
const kinds = [memory, ...DURABLE.map(kind => ({ ...kind, open: storesOf(t, kind) }))]

for (const kind of kinds) {
  t.test(`while the first request with a key is under way (${kind.type})`, { skip: kind.skip }, async t => {
    const { upstream, asked, answer } = await slow(t)
    const env = { OTHER_KEY: canary('caller') }
    const yaml = filmYaml(upstream.origin, undefined, 'tasks: { wait: 300ms }\n')
    const gateway = await startTestGateway(t, yaml.replace('{ type: memory }', await kind.open(t)), { env })
    const first = gateway.request('/v1/videos', { body: CAT, headers })
    await asked

    const another = await gateway.request('/v1/videos', { body: DOG, headers })
    compatibleError(t, another, 409, 'idempotency_key_reused')
    t.equal(another.header('x-should-retry'), 'false')

    const theirs = await gateway.request('/v1/videos', { body: CAT, headers, key: env.OTHER_KEY })
    t.equal(theirs.status, 200, 'the same key of another caller is another key')

    const impatient = await gateway.request('/v1/videos', { body: CAT, headers })
    compatibleError(t, impatient, 409, 'idempotency_key_in_use')
    t.equal(impatient.header('retry-after'), '1')
    t.not(impatient.header('x-should-retry'), 'false', 'it may be asked again')

    answer()
    const { id } = (await first).json() as { id: string }
    const again = await gateway.request('/v1/videos', { body: CAT, headers })
    t.equal((again.json() as { id: string }).id, id)
    t.not((theirs.json() as { id: string }).id, id)
    t.equal(upstream.submits.length, 2, 'one for each of the two')
    const { data } = (await gateway.request('/v1/videos')).json() as { data: { id: string }[] }
    t.same(
      data.map(one => one.id),
      [id],
      'nothing is left of those that were refused',
    )
  })
}

for (const kind of DURABLE) {
  const open = storesOf(t, kind)
  t.test(`a key leads to its task over a restart (${kind.type})`, { skip: kind.skip }, async t => {
    const upstream = await startTaskUpstream(t, compatible({ status: 'running' }))
    const yaml = filmYaml(upstream.origin).replace('{ type: memory }', await open(t))
    const env = { CALLER_KEY: canary('caller'), OTHER_KEY: canary('caller') }
    const before = await startTestGateway(t, yaml, { env })
    const { id } = (await before.request('/v1/videos', { body: CAT, headers })).json() as { id: string }
    await before.gateway.close()
    const after = await startTestGateway(t, yaml, { env })
    const again = await after.request('/v1/videos', { body: CAT, headers })
    t.equal((again.json() as { id: string }).id, id)
    compatibleError(t, await after.request('/v1/videos', { body: DOG, headers }), 409, 'idempotency_key_reused')
    t.equal(upstream.submits.length, 1)
  })
}

for (const [how, verbs, more] of [
  ['sent', 'send: { wish: path.wish }', ''],
  ['counted', 'default: { seconds: 4 } }, { send: { wish: path.wish }', 'prices: { film: { request: 0.1 } }\n'],
] as const) {
  t.test(`a request that cannot be ${how} leaves no task, and its key is free`, async t => {
    const upstream = await startTaskUpstream(t, compatible({ status: 'running' }))
    const env = { OTHER_KEY: canary('caller') }
    const speaks = `speaks: { videos: { call: "POST /v1/{wish}", request: [{ ${verbs} }] } }`
    const yaml = filmYaml(upstream.origin, undefined, more).replace('secret: { env: UPSTREAM', `${speaks}\n    $&`)
    const gateway = await startTestGateway(t, yaml, { env })
    const refused = await gateway.request('/v1/videos', { body: CAT, headers })
    compatibleError(t, refused, 400, 'missing_required_parameter')
    t.strictSame(((await gateway.request('/v1/videos')).json() as { data: unknown }).data, [])
    const again = await gateway.request('/v1/videos', { body: { ...CAT, wish: 'videos' }, headers })
    t.equal(again.status, 200, again.text)
    t.equal(upstream.submits.length, 1)
  })
}

t.test('a key leads to its task for a day, also to one that failed after its upstream did not confirm it', async t => {
  const upstream = await startTaskUpstream(t, () => ({ status: 502 }))
  const yaml = filmYaml(upstream.origin, 'deadline: 1s, retention: 1m')
  let ahead = 0
  clockAhead(t, Date, () => ahead)
  const gateway = await startTestGateway(t, yaml, { env: { OTHER_KEY: canary('caller') } })
  const { id } = (await gateway.request('/v1/videos', { body: CAT, headers })).json() as { id: string }
  await gateway.log.find(line => line.task === id && line.code === 'submit_unconfirmed')
  ahead = 23 * 3_600_000
  const again = await gateway.request('/v1/videos', { body: CAT, headers })
  t.match(again.json(), { id, status: 'failed' })
  t.equal(upstream.submits.length, 1)
})

t.test('the answers of image tasks have the shape of their family', async t => {
  const { script, asked, answer } = held(imageProxy())
  const upstream = await startTaskUpstream(t, script)
  const env = { OTHER_KEY: canary('caller'), NIJI_KEY: canary('caller') }
  const gateway = await startTestGateway(t, imageYaml(upstream.origin, undefined, 'tasks: { wait: 300ms }\n'), { env })
  const ask = (prompt: string) => gateway.request('/mj/submit/imagine', { body: { prompt }, headers })
  const first = ask('A cat')
  await asked
  for (const [prompt, why] of [
    ['A dog', /another request/],
    ['A cat', /still running/],
  ] as const) {
    const refused = await ask(prompt)
    t.equal(refused.status, 409)
    t.match(refused.json(), { code: Number, description: why, result: null })
  }
  answer()
  const { result } = (await first).json() as { result: string }
  t.equal(((await ask('A cat')).json() as { result: string }).result, result)
  t.equal(upstream.submits.length, 1)
})

proveNoLeak(t)
