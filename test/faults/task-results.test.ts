import { createHash } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import type { StoreConfig } from '../../src/core/store-config.js'
import { openStore } from '../../src/runtime/stores.js'
import { canary, proveNoLeak } from '../helpers/canaries.js'
import { compatibleError } from '../helpers/expect.js'
import { fastClock } from '../helpers/fast-clock.js'
import { startTestGateway, type TestGateway } from '../helpers/gateway.js'
import { imageProxy, imageYaml } from '../helpers/image-upstream.js'
import { request } from '../helpers/raw-client.js'
import { DURABLE, storeYaml } from '../helpers/store-kinds.js'
import { compatible, FILM, filmYaml, startTaskUpstream, type TaskScript } from '../helpers/task-upstream.js'

// Results inside an upstream's answer: the store keeps them as long as their task has them.

t.setTimeout(120_000)

const MODULE = fileURLToPath(new URL('../stores/my-store.js', import.meta.url))
/** More than a piece of the store, and far more than an address may have. */
const LARGE = Buffer.concat(Array.from({ length: 200 }, (_, n) => Buffer.concat([FILM, Buffer.from([n])])))
const BODY = { model: 'film', prompt: 'A cat' }
const RESULT = 'poll: { every: 20ms }, result: film.url'

const filmUrl = (bytes: Buffer, type = 'video/mp4'): string => `data:${type};base64,${bytes.toString('base64')}`

/** An upstream whose last answer holds its result; `url` is asked for each time. */
function showing(url: () => string): TaskScript {
  return (asked, upstream) => compatible({ status: 'completed', film: { url: url() } })(asked, upstream)
}

async function stage(t: Test, script: TaskScript, task = RESULT, store = '{ type: memory }') {
  const upstream = await startTaskUpstream(t, script)
  const yaml = filmYaml(upstream.origin, task).replace('{ type: memory }', store)
  const gateway = await startTestGateway(t, yaml, { env: { OTHER_KEY: canary('caller') } })
  return { upstream, gateway }
}

/** The id of a task that has come to an end. */
async function ended(gateway: TestGateway, state: string): Promise<string> {
  const answer = await gateway.request('/v1/videos', { body: BODY })
  if (answer.status !== 200) throw new Error(answer.text)
  const { id } = answer.json() as { id: string }
  await gateway.log.find(line => line.msg === 'task changed' && line.task === id && line.to === state)
  return id
}

/** Whether a store keeps those bytes for a task of the caller. */
async function isKept(config: StoreConfig, id: string, bytes: Buffer): Promise<boolean> {
  const store = await openStore(config)
  try {
    const digest = createHash('sha256').update(bytes).digest('hex').slice(0, 32)
    const place = { namespace: 'task-results', owner: 'caller', key: `${id}.${digest}` }
    return (await store.blobs.get(place)) !== undefined
  } finally {
    await store.close()
  }
}

t.test('F-T4 a large result in the answer: whole, in part, only its head, and not again', async t => {
  const { gateway } = await stage(
    t,
    showing(() => filmUrl(LARGE)),
  )
  const id = await ended(gateway, 'succeeded')
  const record = await gateway.request(`/v1/videos/${id}`)
  t.match(record.json(), { status: 'completed', progress: 100, error: null })
  t.ok(record.body.length < 2000, 'the record does not hold it')
  const path = `/v1/videos/${id}/content`
  const whole = await gateway.request(path)
  t.equal(whole.status, 200)
  t.equal(whole.header('content-type'), 'video/mp4')
  t.equal(whole.header('content-length'), String(LARGE.length))
  t.ok(whole.body.equals(LARGE))
  const etag = whole.header('etag') ?? ''
  const part = await gateway.request(path, { headers: { range: 'bytes=262140-262150', 'if-range': etag } })
  t.equal(part.status, 206)
  t.equal(part.header('content-range'), `bytes 262140-262150/${LARGE.length}`)
  t.same(part.body, LARGE.subarray(262140, 262151))
  t.same((await gateway.request(path, { headers: { range: 'bytes=-10' } })).body, LARGE.subarray(-10))
  const beyond = await gateway.request(path, { headers: { range: `bytes=${LARGE.length}-` } })
  t.equal(beyond.status, 416)
  t.equal(beyond.header('content-range'), `bytes */${LARGE.length}`)
  t.equal((await gateway.request(path, { headers: { 'if-none-match': etag } })).status, 304)
  const authorization = `Bearer ${gateway.key}`
  const head = await fetch(`${gateway.origin}${path}`, { method: 'HEAD', headers: { authorization } })
  t.equal(head.headers.get('content-length'), String(LARGE.length))
  t.equal(await head.text(), '')
})

t.test('a large result is sent as the client takes it, and no further where it goes away', async t => {
  const film = Buffer.concat(Array.from({ length: 10 }, () => LARGE))
  const { gateway } = await stage(
    t,
    showing(() => filmUrl(film)),
  )
  const id = await ended(gateway, 'succeeded')
  const client = await gateway.open(`/v1/videos/${id}/content`)
  const head = await client.head()
  await client.body(head, bytes => bytes.length >= 1000)
  client.socket.destroy()
  await gateway.log.find(line => line.outcome === 'client_abort')
  t.ok((await gateway.request(`/v1/videos/${id}/content`)).body.equals(film))
})

t.test('bare base64 is a result, an address of base64’s letters is not one', async t => {
  let text = FILM.toString('base64')
  const { gateway, upstream } = await stage(
    t,
    showing(() => text),
  )
  const id = await ended(gateway, 'succeeded')
  t.same((await gateway.request(`/v1/videos/${id}/content`)).body, FILM)
  text = `/${'made'.repeat(31)}abc`
  const other = await ended(gateway, 'succeeded')
  await gateway.request(`/v1/videos/${other}/content`)
  t.equal(upstream.requests.items.at(-1)?.target, text)
})

t.test('a large result of another kind than it ought to be never reaches the client', async t => {
  const { gateway } = await stage(
    t,
    showing(() => filmUrl(LARGE, 'text/html')),
  )
  const id = await ended(gateway, 'succeeded')
  compatibleError(t, await gateway.request(`/v1/videos/${id}/content`), 502, 'bad_upstream_response')
})

t.test('a result over the limit: the task fails, and says why', async t => {
  const task = `${RESULT}, max_inline: 64KiB`
  const { gateway } = await stage(
    t,
    showing(() => filmUrl(LARGE)),
    task,
  )
  const id = await ended(gateway, 'failed')
  t.match((await gateway.request(`/v1/videos/${id}`)).json(), { error: { code: 'result_too_large', message: /\w/ } })
  t.equal((await gateway.request(`/v1/videos/${id}/content`)).status, 404)
})

t.test('an answer that is larger than it may be at all: the task fails, and says why', async t => {
  const huge = Buffer.alloc(5 * 1024 * 1024, 7)
  const { gateway, upstream } = await stage(
    t,
    showing(() => filmUrl(huge)),
    `${RESULT}, max_inline: 1KiB`,
  )
  const id = await ended(gateway, 'failed')
  t.match((await gateway.request(`/v1/videos/${id}`)).json(), { error: { code: 'result_too_large' } })
  t.equal(upstream.requests.items.filter(({ method }) => method === 'GET').length, 10)
})

const SMALL_STORE = `{ type: "${MODULE}", options: { blobs: ${LARGE.length + 1000} } }`

t.test('F-S6 no room for a result: the task continues, and succeeds when there is some', async t => {
  let bytes = LARGE
  const { gateway } = await stage(
    t,
    showing(() => filmUrl(bytes)),
    'poll: { every: 20ms, slowest: 50ms }, result: film.url',
    SMALL_STORE,
  )
  const first = await ended(gateway, 'succeeded')
  bytes = LARGE.subarray(1)
  const { id } = (await gateway.request('/v1/videos', { body: BODY })).json() as { id: string }
  await gateway.log.find(line => String(line.error).includes('full of blobs'))
  t.not(((await gateway.request(`/v1/videos/${id}`)).json() as { status: string }).status, 'failed')
  t.equal((await gateway.request(`/v1/videos/${first}`, { method: 'DELETE' })).status, 200)
  await gateway.log.find(line => line.msg === 'task changed' && line.task === id && line.to === 'succeeded')
  t.ok((await gateway.request(`/v1/videos/${id}/content`)).body.equals(bytes))
})

t.test('F-S6 no room for a result until the deadline: the failure says so', async t => {
  const task = `poll: { every: 20ms, slowest: 20ms }, result: film.url, deadline: 1m, grace: 1ms`
  const store = `{ type: "${MODULE}", options: { blobs: 1000 } }`
  const { gateway } = await stage(
    t,
    showing(() => filmUrl(LARGE)),
    task,
    store,
  )
  const id = ended(gateway, 'failed')
  await gateway.log.find(line => String(line.error).includes('full of blobs'))
  fastClock(t, Date)
  const failed = await gateway.request(`/v1/videos/${await id}`)
  t.match(failed.json(), { error: { code: 'not_kept', message: /room/ } })
})

t.test('an upstream that answers a submit with what it made: the task has ended when it has begun', async t => {
  const upstream = await startTaskUpstream(t, () => ({ body: { film: LARGE.toString('base64') } }))
  const yaml = `version: 1
store: { type: memory }
keys: { caller: { secret: { env: CALLER_KEY } } }
upstreams:
  up:
    base: "${upstream.origin}"
    credential: { in: header, name: authorization, scheme: Bearer, secret: { env: UPSTREAM_KEY } }
    speaks: { videos: { call: POST /make, task: { result: film } } }
models: { film: up }
`
  const gateway = await startTestGateway(t, yaml)
  const begun = (await gateway.request('/v1/videos', { body: BODY })).json() as { id: string }
  t.match(begun, { status: 'completed', progress: 100 })
  t.ok((await gateway.request(`/v1/videos/${begun.id}/content`)).body.equals(LARGE))
  t.equal((await gateway.request(`/v1/videos/${begun.id}`, { method: 'DELETE' })).status, 200)
  t.equal((await gateway.request(`/v1/videos/${begun.id}/content`)).status, 404)
  t.equal(upstream.requests.items.length, 1)
})

t.test(
  'a picture in the answer of an image task: the record holds a link to it, also while it is being made',
  async t => {
    const picture = (n: number): Buffer => Buffer.concat([Buffer.from('ffd8ff', 'hex'), Buffer.alloc(20_000, n)])
    const records = [
      { status: 'IN_PROGRESS', progress: '50%', imageUrl: filmUrl(picture(1), 'image/jpeg') },
      { status: 'SUCCESS', progress: '100%', imageUrl: picture(2).toString('base64') },
    ]
    let most = 1
    const usual = records.map((_, n) => imageProxy({ records: [records[n] as object] }))
    const upstream = await startTaskUpstream(t, (asked, self) => (usual[most - 1] as TaskScript)(asked, self))
    const env = { OTHER_KEY: canary('caller'), NIJI_KEY: canary('caller') }
    const gateway = await startTestGateway(t, imageYaml(upstream.origin), { env })
    const begun = await gateway.request('/mj/submit/imagine', { body: { prompt: 'A cat' } })
    const { result } = begun.json() as { result: string }
    const follow = async () => {
      const record = (await gateway.request(`/mj/task/${result}/fetch`)).json() as { imageUrl: string }
      const { origin, pathname, search } = new URL(record.imageUrl)
      t.match(pathname, `/mj/image/${result}`)
      return await request(t, origin, pathname + search)
    }
    await gateway.log.find(line => line.task === result && line.to === 'running')
    const early = await follow()
    t.equal(early.header('content-type'), 'image/jpeg')
    t.ok(early.body.equals(picture(1)))
    most = 2
    await gateway.log.find(line => line.task === result && line.to === 'succeeded')
    const last = await follow()
    t.equal(last.header('content-type'), 'image/jpeg', 'detected by its first bytes')
    t.ok(last.body.equals(picture(2)))
    t.not(last.header('etag'), early.header('etag'))
  },
)

for (const kind of DURABLE) {
  t.test(
    `a result in the answer outlives the process, and goes with its task (${kind.type})`,
    { skip: kind.skip },
    async t => {
      const config = await kind.make(t)
      const script = showing(() => filmUrl(LARGE))
      const upstream = await startTaskUpstream(t, script)
      const yaml = filmYaml(upstream.origin, RESULT).replace('{ type: memory }', storeYaml(config))
      const env = { CALLER_KEY: canary('caller'), OTHER_KEY: canary('caller') }
      const first = await startTestGateway(t, yaml, { env })
      const id = await ended(first, 'succeeded')
      await first.gateway.close()
      t.equal(await isKept(config, id, LARGE), true)
      const second = await startTestGateway(t, yaml, { env })
      const content = await second.request(`/v1/videos/${id}/content`)
      t.ok(content.body.equals(LARGE))
      const part = await second.request(`/v1/videos/${id}/content`, { headers: { range: 'bytes=300000-300009' } })
      t.same(part.body, LARGE.subarray(300_000, 300_010))
      const foreign = await second.request(`/v1/videos/${id}/content`, { key: env.OTHER_KEY })
      compatibleError(t, foreign, 404)
      t.equal((await second.request(`/v1/videos/${id}`, { method: 'DELETE' })).status, 200)
      // Only when the upstream has heard of it the task goes, and what it made before it.
      while (await isKept(config, id, LARGE)) await second.request(`/v1/videos/${id}`)
    },
  )

  t.test(`a result in the answer expires with its task (${kind.type})`, { skip: kind.skip }, async t => {
    const config = await kind.make(t)
    const script = showing(() => filmUrl(LARGE))
    const { gateway } = await stage(t, script, `${RESULT}, retention: 1ms`, storeYaml(config))
    const id = await ended(gateway, 'succeeded')
    compatibleError(t, await gateway.request(`/v1/videos/${id}/content`), 410, 'expired')
    await gateway.gateway.close()
    t.equal(await isKept(config, id, LARGE), false)
  })
}

proveNoLeak(t)
