import { join } from 'node:path'
import { Redis } from 'ioredis'
import t from 'tap'
import { draft } from '../../src/contracts/store-stage.js'
import type { RedisSettings } from '../../src/core/store-config.js'
import { UNHEARD } from '../../src/runtime/stores.js'
import { RedisStore } from '../../src/stores/redis.js'
import { storeContract } from '../contracts/store.js'
import { certificate } from '../helpers/certificates.js'
import { startRedisCluster, until } from '../helpers/redis-cluster.js'
import { heard } from '../helpers/store-events.js'
import { freePort, startRedis, withoutRedis } from '../helpers/store-servers.js'

// Servers in groups: a cluster of three, and two with a sentinel over them.

t.setTimeout(300_000)

let stores = 0

function settings(mode: RedisSettings['mode'], ports: readonly number[]): RedisSettings {
  const nodes = ports.map(port => ({ host: '127.0.0.1', port }))
  return { mode, nodes, group: 'mymaster', database: 0, prefix: `test-${stores++}`, timeout: 5000 }
}

t.test('a cluster keeps the contract, with records of all its nodes', { skip: withoutRedis }, async t => {
  const { servers, clients } = await startRedisCluster(t)
  const ports = servers.map(({ port }) => port)
  storeContract(t, (test, clock) => {
    const own = settings('cluster', ports.slice(0, 2))
    return async () => {
      const store = await RedisStore.open(own, UNHEARD, () => clock.now)
      test.teardown(() => store.close())
      return store
    }
  })
  t.test('its nodes share the work', async t => {
    const sizes = await Promise.all(clients.map(client => client.dbsize()))
    t.ok(
      sizes.every(size => size > 0),
      sizes.join(),
    )
  })
})

t.test('a cluster with TLS is reached by the names of its certificates', { skip: withoutRedis }, async t => {
  const { cert, key } = certificate('localhost', new Date(Date.now() - 86_400_000), new Date(Date.now() + 86_400_000))
  const folder = t.testdir({ cert, key })
  const files = ['--tls-cert-file', 'cert', '--tls-key-file', 'key', '--tls-ca-cert-file', 'cert']
  const tls = files.map(name => (name.startsWith('--') ? name : join(folder, name)))
  const names = ['--cluster-announce-hostname', 'localhost', '--cluster-preferred-endpoint-type', 'hostname']
  const tlsPort = await freePort()
  const { port } = await startRedis(t, [
    ...['--cluster-enabled', 'yes', '--tls-cluster', 'yes', '--tls-port', `${tlsPort}`, '--tls-auth-clients', 'no'],
    ...names,
    ...tls,
  ])
  const client = new Redis(port)
  t.teardown(() => client.disconnect())
  await client.call('CLUSTER', 'ADDSLOTSRANGE', 0, 16_383)
  await until('the cluster', async () => (await client.cluster('INFO')).includes('cluster_state:ok'))
  const own = { ...settings('cluster', []), nodes: [{ host: 'localhost', port: tlsPort }], tls: { ca: cert } }
  const store = await RedisStore.open(own, UNHEARD)
  t.teardown(() => store.close())
  t.equal(await store.get('things', 'ann', 'a'), undefined)
})

t.test('with sentinels, the store continues with the new primary', { skip: withoutRedis }, async t => {
  const master = await startRedis(t)
  const replica = await startRedis(t, ['--replicaof', '127.0.0.1', `${master.port}`])
  const watcher = new Redis(replica.port, '127.0.0.1')
  t.teardown(() => watcher.disconnect())
  await until('the replica', async () => (await watcher.info('replication')).includes('master_link_status:up'))
  const sentinel = await startRedis(
    t,
    ['--sentinel'],
    [
      `sentinel monitor mymaster 127.0.0.1 ${master.port} 1`,
      // It must not take a primary that is slow to start for one that is gone.
      'sentinel down-after-milliseconds mymaster 600000',
      'sentinel failover-timeout mymaster 3000',
    ],
  )
  const observer = new Redis(sentinel.port, '127.0.0.1')
  t.teardown(() => observer.disconnect())
  await until('the sentinel', async () => String(await observer.call('SENTINEL', 'MASTERS')).includes('num-slaves,1'))
  const { events, told } = heard()
  const store = await RedisStore.open(settings('sentinel', [sentinel.port]), events)
  t.teardown(() => store.close())
  const record = draft('a', { created: Date.now(), expires: Date.now() + 3_600_000 })
  await store.create(record)
  await until('replication', async () => (await watcher.keys('*r:things ann a')).length === 1)
  await master.kill()
  await observer.call('SENTINEL', 'SET', 'mymaster', 'down-after-milliseconds', '500')
  await told.find(line => line === 'up')
  t.ok(await store.get('things', 'ann', 'a'))
  await until('writes', async () => (await store.create({ ...record, key: 'b' }).catch(() => undefined)) !== undefined)
  t.equal((await watcher.info('replication')).includes('role:master'), true)
})
