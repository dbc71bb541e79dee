import t from 'tap'
import type { StoreConfig } from '../../src/core/store-config.js'
import { openStore } from '../../src/runtime/stores.js'
import { compatibleError } from '../helpers/expect.js'
import { startTestGateway } from '../helpers/gateway.js'
import { DURABLE, postgresConfig, redisConfig, storeYaml, temporary } from '../helpers/store-kinds.js'
import { startPostgres, startRedis, withoutPostgres, withoutRedis } from '../helpers/store-servers.js'
import { watchWrites } from '../helpers/store-writes.js'
import { compatible, filmYaml, held, startTaskUpstream } from '../helpers/task-upstream.js'

// Whose a task is while it is being submitted: its process's, as long as that renews its lease, however long the upstream
// takes; and a client's key for a request is free where the upstream was never asked.

t.setTimeout(180_000)

const CAT = { model: 'film', prompt: 'A cat' }
/** Redis is sent a script once more where it does not know it yet: with this one before, writes are counted as they are. */
const DOG = { model: 'film', prompt: 'A dog' }
const headers = { 'idempotency-key': 'order-1' }
/** Upstreams may think for minutes; a second request with a key waits for 20 s, a lease is over long before. */
const SETTINGS = 'tasks: { lease: 2s, wait: 20s }\ntimeouts: { connect: 60s, first_byte: 300s }\n'

interface Film {
  readonly id: string
}

for (const kind of DURABLE) {
  t.test(`a process that lives keeps what it submits, for many leases (${kind.type})`, { skip: kind.skip }, async t => {
    const config = await kind.make(t)
    const { script, asked, answer } = held(compatible({ status: 'running' }))
    const upstream = await startTaskUpstream(t, script)
    const yaml = filmYaml(upstream.origin, undefined, SETTINGS.replace('2s', '600ms'))
    const gateways = [1, 2].map(() => startTestGateway(t, yaml.replace('{ type: memory }', storeYaml(config)), { env }))
    const [one, other] = await Promise.all(gateways)
    const submitting = one?.request('/v1/videos', { body: CAT, headers })
    await asked
    const store = await openStore(config)
    t.teardown(() => store.close())
    const due = async (): Promise<number> => {
      const [record] = await store.scan('tasks-video', { limit: 1 })
      return record?.due ?? 0
    }
    const begun = await due()
    while ((await due()) < begun + 3000) await other?.request('/v1/videos')
    answer()
    const first = (await submitting)?.json() as Film
    t.match(first, { status: /queued|in_progress/, error: null })
    const again = await other?.request('/v1/videos', { body: CAT, headers })
    t.match(again?.json(), { id: first.id })
    t.equal(upstream.submits.length, 1)
    const changes = [one, other].flatMap(
      gateway => gateway?.log.items.filter(({ msg }) => msg === 'task changed') ?? [],
    )
    t.same(
      changes.filter(({ to }) => to === 'failed' || to === 'withdrawn'),
      [],
    )
  })
}

for (const kind of DURABLE) {
  t.test(`a task that waits for room keeps its record for many leases (${kind.type})`, { skip: kind.skip }, async t => {
    const config = await kind.make(t)
    const { script, asked, answer } = held(compatible({ status: 'running' }), (_, self) => self.submits.length === 1)
    const upstream = await startTaskUpstream(t, script)
    const yaml = filmYaml(upstream.origin, undefined, SETTINGS.replace('2s', '600ms'))
      .replace('{ type: memory }', storeYaml(config))
      .replace('kind: openai', '$&\n    limits: { in_flight: 1, queue: 120s }')
    const gateway = await startTestGateway(t, yaml, { env })
    const first = gateway.request('/v1/videos', { body: CAT })
    await asked
    const waiting = gateway.request('/v1/videos', { body: DOG })
    const store = await openStore(config)
    t.teardown(() => store.close())
    const due = async (): Promise<number | undefined> => {
      const records = await store.scan('tasks-video', { limit: 10 })
      return records.find(({ value }) => Buffer.from(value).includes(DOG.prompt))?.due ?? undefined
    }
    let begun: number | undefined
    for (; begun === undefined; begun = await due()) await gateway.request('/v1/videos')
    for (let now: number | undefined = begun; now !== undefined && now < begun + 3000; now = await due())
      await gateway.request('/v1/videos')
    answer()
    t.equal((await first).status, 200)
    const later = await waiting
    t.equal(later.status, 200, later.text)
    t.match(later.json(), { status: /queued|in_progress/, error: null })
    t.equal(upstream.submits.length, 2)
  })
}

const env = { CALLER_KEY: 'the-key-of-the-caller-0123456789', OTHER_KEY: 'the-key-of-another-0123456789' }

/** How long a call of the store may take, milliseconds: long enough for a machine that does much else. */
const STORE_TIMEOUT = 1000

/** Servers of stores. */
const SERVERS: readonly (readonly [name: string, skip: string | false, make: () => Promise<StoreConfig>])[] = [
  ['redis', withoutRedis, async () => redisConfig(temporary(t), (await startRedis(t)).port, STORE_TIMEOUT)],
  [
    'postgres',
    withoutPostgres,
    async () =>
      postgresConfig(temporary(t), (await startPostgres(t)).port, { timeout: STORE_TIMEOUT, wait: STORE_TIMEOUT }),
  ],
]

for (const [name, skip, make] of SERVERS) {
  for (const [n, how] of [
    [1, 'done'],
    [2, 'cut'],
    [2, 'done'],
  ] as const) {
    const which = `${how === 'cut' ? 'before' : 'after'} write ${n}`
    t.test(`a store that stalls before the upstream is asked frees the key: ${which} (${name})`, { skip }, async t => {
      const watched = await watchWrites(t, storeYaml(await make()))
      const upstream = await startTaskUpstream(t, compatible({ status: 'running' }))
      const yaml = filmYaml(upstream.origin, undefined, SETTINGS.replace('2s', '1h').replace('20s', '3s'))
      const gateway = await startTestGateway(t, yaml.replace('{ type: memory }', watched.store), { env })
      t.equal((await gateway.request('/v1/videos', { body: DOG })).status, 200)
      const stalled = watched.at(CAT.prompt, { n, how })
      const refused = gateway.request('/v1/videos', { body: CAT, headers })
      await stalled
      compatibleError(t, await refused, 503, 'unavailable')
      t.equal(upstream.submits.length, 1, 'the upstream was never asked')
      let again = await gateway.request('/v1/videos', { body: CAT, headers })
      while (again.status === 503) again = await gateway.request('/v1/videos', { body: CAT, headers })
      t.equal(again.status, 200, again.text)
      t.match(again.json(), { status: /queued|in_progress/ })
      t.equal(upstream.submits.length, 2)
      const { id } = again.json() as Film
      // What the refused request left goes as well.
      for (;;) {
        const { data } = (await gateway.request('/v1/videos')).json() as { data?: readonly Film[] }
        if (data?.length === 2 && data.some(film => film.id === id)) break
      }
    })
  }
}

t.test('a server that hangs from there on frees the key when it is back (redis)', { skip: withoutRedis }, async t => {
  const server = await startRedis(t)
  const watched = await watchWrites(t, storeYaml(redisConfig(temporary(t), server.port, STORE_TIMEOUT)))
  const upstream = await startTaskUpstream(t, compatible({ status: 'running' }))
  const yaml = filmYaml(upstream.origin, undefined, SETTINGS.replace('2s', '1h').replace('20s', '3s'))
  const gateway = await startTestGateway(t, yaml.replace('{ type: memory }', watched.store), { env })
  t.equal((await gateway.request('/v1/videos', { body: DOG })).status, 200)
  const stalled = watched.at(CAT.prompt, { n: 2, how: 'cut' })
  const refused = gateway.request('/v1/videos', { body: CAT, headers })
  await stalled
  server.process.kill('SIGSTOP')
  compatibleError(t, await refused, 503, 'unavailable')
  server.process.kill('SIGCONT')
  let again = await gateway.request('/v1/videos', { body: CAT, headers })
  while (again.status === 503) again = await gateway.request('/v1/videos', { body: CAT, headers })
  t.equal(again.status, 200, again.text)
  t.equal(upstream.submits.length, 2, 'the upstream was never asked before')
})
