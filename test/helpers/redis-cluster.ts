import { setTimeout } from 'node:timers/promises'
import { Redis } from 'ioredis'
import type t from 'tap'
import { type StoreServer, startRedis } from './store-servers.js'

type Test = Pick<typeof t, 'teardown' | 'comment'>

const MASTERS = 3
const SLOTS = 16_384

export interface RedisCluster {
  /** The masters, then as many replicas, in the same order. */
  readonly servers: readonly StoreServer[]
  /** One connection to each of them. */
  readonly clients: readonly Redis[]
}

/** Three masters which share the slots, with a replica each where that is asked for. */
export async function startRedisCluster(
  test: Test,
  options: { readonly replicas?: boolean } = {},
): Promise<RedisCluster> {
  // A node that is slow to answer must not be taken for one that is gone, but where the test kills one.
  const patience = options.replicas === true ? '2000' : '5000'
  const args = [
    '--cluster-enabled',
    'yes',
    '--cluster-node-timeout',
    patience,
    '--cluster-replica-validity-factor',
    '0',
  ]
  const count = options.replicas === true ? 2 * MASTERS : MASTERS
  const servers: StoreServer[] = []
  for (let n = 0; n < count; n++) servers.push(await startRedis(test, args))
  const clients = servers.map(({ port }) => new Redis(port, '127.0.0.1'))
  // Of a node that is killed.
  for (const client of clients) client.on('error', () => undefined)
  test.teardown(() => {
    for (const client of clients) client.disconnect()
  })
  for (const [n, client] of clients.entries()) {
    const [from, to] = [n, n + 1].map(part => Math.floor((part * SLOTS) / MASTERS))
    if (n < MASTERS) await client.call('CLUSTER', 'ADDSLOTSRANGE', from ?? 0, (to ?? SLOTS) - 1)
    if (n > 0) await client.call('CLUSTER', 'MEET', '127.0.0.1', servers[0]?.port ?? 0)
  }
  await until('the cluster', async () => {
    const infos = await Promise.all(clients.map(client => client.cluster('INFO')))
    return infos.every(info => info.includes(`cluster_known_nodes:${count}`))
  })
  for (const [n, client] of clients.slice(MASTERS).entries()) {
    await client.call('CLUSTER', 'REPLICATE', String(await clients[n]?.call('CLUSTER', 'MYID')))
  }
  await until('its nodes', async () => {
    const infos = await Promise.all(clients.map(client => client.cluster('INFO')))
    const replicas = await Promise.all(clients.slice(MASTERS).map(client => client.info('replication')))
    return (
      infos.every(info => info.includes('cluster_state:ok')) &&
      replicas.every(info => info.includes('master_link_status:up'))
    )
  })
  return { servers, clients }
}

export async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 600; tries++) {
    if (await holds()) return
    await setTimeout(50)
  }
  throw new Error(`${what}: it did not come in time`)
}
