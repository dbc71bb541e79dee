import { Redis } from 'ioredis'
import t from 'tap'
import { draft, START } from '../../src/contracts/store-stage.js'
import { Secret } from '../../src/core/secret.js'
import { NEVER_EXPIRES_MS } from '../../src/core/store.js'
import type { RedisSettings, StoreEvents } from '../../src/core/store-config.js'
import { RedisStore } from '../../src/stores/redis.js'
import { storeContract } from '../contracts/store.js'
import { until } from '../helpers/redis-cluster.js'
import { heard } from '../helpers/store-events.js'
import { startRedis, withoutRedis } from '../helpers/store-servers.js'

const QUIET: StoreEvents = { warn: () => undefined, down: () => undefined, up: () => undefined }

let stores = 0

t.test('a server', { skip: withoutRedis }, async t => {
  const { port } = await startRedis(t)
  storeContract(t, (test, clock) => {
    const own = settings(port)
    return async () => {
      const store = await RedisStore.open(own, QUIET, () => clock.now)
      test.teardown(() => store.close())
      return store
    }
  })
})

t.test('a server that accepts no writes opens a store that is there, and reads', { skip: withoutRedis }, async t => {
  const primary = await startRedis(t)
  const replica = await startRedis(t, ['--replicaof', '127.0.0.1', `${primary.port}`])
  const own = settings(primary.port)
  const store = await RedisStore.open(own, QUIET)
  t.teardown(() => store.close())
  const record = await store.create(draft('a', { expires: NEVER_EXPIRES_MS }))
  const [clients, followers] = [new Redis(primary.port), new Redis(replica.port)]
  t.teardown(() => [clients, followers].map(client => client.disconnect()))
  const isCopied = async (): Promise<boolean> => (await followers.exists(`{${own.prefix}}schema`)) === 1
  await until('the replica', isCopied)
  await clients.config('SET', 'maxmemory', '1')
  for (const [{ port }, fault] of [
    [primary, 'full'],
    [replica, 'unavailable'],
  ] as const) {
    const again = await RedisStore.open({ ...own, nodes: [{ host: '127.0.0.1', port }] }, QUIET)
    t.teardown(() => again.close())
    t.same(await again.get('things', 'ann', 'a'), record)
    await t.rejects(again.create(draft('b')), { name: 'StoreError', fault })
    await t.rejects(RedisStore.open({ ...settings(port) }, QUIET), { name: 'StoreError', fault })
  }
})

t.test('a database that is not there, or that the user may not select, is refused', { skip: withoutRedis }, async t => {
  const { port } = await startRedis(t, ['--databases', '4'])
  const client = new Redis(port)
  t.teardown(() => client.disconnect())
  await client.call('ACL', 'SETUSER', 'ann', 'on', '>secret', '~*', '+@all', '-select')
  const [ann, password] = ['ann', new Secret('secret')]
  for (const [parts, message] of [
    [{ database: 4 }, /out of range/],
    [{ database: 3, username: ann, password }, /no permissions/],
    [{ database: 3, username: ann, password: new Secret('wrong') }, /WRONGPASS/],
  ] as const) {
    await t.rejects(RedisStore.open(settings(port, parts), QUIET), { name: 'StoreError', fault: 'refused', message })
  }
  t.equal(await client.dbsize(), 0)
  const store = await RedisStore.open(settings(port, { database: 3 }), QUIET)
  await store.close()
  t.equal(await client.dbsize(), 0)
})

t.test('a server that has lost the database of a store counts as away', { skip: withoutRedis }, async t => {
  const server = await startRedis(t)
  const { events, told } = heard()
  const store = await RedisStore.open(settings(server.port, { database: 3 }), events)
  t.teardown(() => store.close())
  const client = new Redis(server.port)
  t.teardown(() => client.disconnect())
  const may = (right: string): Promise<unknown> => client.call('ACL', 'SETUSER', 'default', right)
  const leave = (): Promise<unknown> => client.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes')
  await may('-select')
  await leave()
  await told.find(event => event === 'down')
  await t.rejects(store.create(draft('a')), { name: 'StoreError', fault: 'unavailable' })
  t.equal(await client.dbsize(), 0)
  await may('+select')
  await told.find(event => event === 'up')
  t.ok(await store.create(draft('a')))
  t.equal(await client.dbsize(), 0)
})

t.test('a record whose key an evicted one had is listed once', { skip: withoutRedis }, async t => {
  const { port } = await startRedis(t)
  const store = await RedisStore.open(settings(port), QUIET, () => START)
  const client = new Redis(port)
  t.teardown(() => Promise.all([store.close(), client.disconnect()]))
  await store.create(draft('a'))
  const [evicted = ''] = await client.keys('*r:things ann a')
  await client.del(evicted)
  const record = await store.create(draft('a', { created: START + 1 }))
  t.same(await store.list('things', 'ann', { order: 'ascending', limit: 10 }), [record])
  t.same(await store.scan('things', { limit: 10 }), [record])
})

/** Each store has a prefix of its own, and so begins empty. */
function settings(port: number, parts: Partial<RedisSettings> = {}): RedisSettings {
  const nodes = [{ host: '127.0.0.1', port }]
  return { mode: 'single', nodes, database: 0, prefix: `test-${stores++}`, timeout: 5000, ...parts }
}
