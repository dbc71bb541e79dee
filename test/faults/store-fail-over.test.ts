import t, { type Test } from 'tap'
import { checkLedger } from '../../src/runtime/ledger-check.js'
import { LedgerStore } from '../../src/runtime/ledger-store.js'
import { CHAT_ANSWER, json } from '../helpers/answers.js'
import { startTestGateway, type TestGateway, upstreamYaml } from '../helpers/gateway.js'
import { ledgerRecords } from '../helpers/ledger-records.js'
import { startRawUpstream } from '../helpers/raw-upstream.js'
import { startRedisCluster, until } from '../helpers/redis-cluster.js'
import { postgresConfig, storeYaml, temporary } from '../helpers/store-kinds.js'
import {
  startPgbouncer,
  startPostgres,
  withoutPgbouncer,
  withoutPostgres,
  withoutRedis,
} from '../helpers/store-servers.js'

/** Three gateways on one store that fails over under load: what is spent is what was served, and no more than the budget. */

t.setTimeout(300_000)

const GATEWAYS = 3
const CLIENTS = 12
/** Millionths of a USD. */
const PRICE = 10_000
/** Requests that the budget covers. */
const FIT = 600
/** Requests that are served before the store is disturbed. */
const BEFORE = 150

interface Stage {
  readonly gateways: readonly TestGateway[]
  /** Statuses of the answers so far. */
  readonly statuses: number[]
  /** Requests that were served so far. */
  served(): number
  /** Asks with all clients until the budget is spent. */
  spend(): Promise<void>
}

async function start(test: Test, store: string): Promise<Stage> {
  const upstream = await startRawUpstream(test)
  upstream.answer(json(CHAT_ANSWER))
  const yaml = `version: 1
store: ${store}
keys: { caller: { secret: { env: CALLER_KEY }, models: ["*"], limits: { budget: ${(PRICE * FIT) / 1e6} USD/total } } }
upstreams:
  up: ${upstreamYaml(upstream.origin)}
models: { m: up }
prices: { m: { request: ${PRICE / 1e6} } }
`
  const env = { CALLER_KEY: 'caller-key-of-the-fail-over-0123' }
  const gateways: TestGateway[] = []
  for (let n = 0; n < GATEWAYS; n++) gateways.push(await startTestGateway(test, yaml, { env }))
  const statuses: number[] = []
  const client = async (gateway: TestGateway): Promise<void> => {
    for (;;) {
      const answer = await gateway.chat({ max_tokens: 1 })
      statuses.push(answer.status)
      // A store that is away refuses, too, and says that it will be back.
      if (answer.status === 429 && answer.text.includes('insufficient_quota')) return
    }
  }
  const served = () => statuses.filter(status => status === 200).length
  return {
    gateways,
    statuses,
    served,
    spend: async () => {
      await Promise.all(Array.from({ length: CLIENTS }, (_, n) => client(gateways[n % GATEWAYS] as TestGateway)))
      // A client is refused, too, while two gateways hold a part of the last request's price each; both give it back.
      const once = async () => void (await Promise.all(gateways.map(client)))
      await until('the last request that the budget covers', async () => {
        await once()
        return served() >= FIT
      })
      await once()
    },
  }
}

/** What was served is in the ledger once, the accounts agree with it, and the budget is spent and not passed. */
async function check(test: Test, { gateways, served, statuses }: Stage): Promise<void> {
  const [gateway] = gateways
  if (gateway === undefined) throw new Error('no gateway')
  const records = await ledgerRecords(gateway)
  const ids = new Set(records.map(record => record.id))
  test.equal(ids.size, records.length, 'no entry is there twice')
  test.equal(records.length, served(), 'each request that was served has an entry')
  test.equal(
    records.reduce((sum, { cost }) => sum + cost, 0),
    served() * PRICE,
  )
  test.equal(served(), FIT, 'all of the budget is spent, and nothing beyond it')
  const ledger = await LedgerStore.open(gateway.gateway.plan)
  const { differing, accounts } = await checkLedger(ledger, { timeZone: 'UTC' })
  await ledger.close()
  test.equal(differing, 0)
  test.ok(accounts > 0)
  console.log(`# MEASURED: ${served()} of ${statuses.length} requests served, overshoot 0`)
}

t.test(
  'F-S9 a master of a Redis Cluster is killed under load: nothing is lost, nothing is doubled',
  { skip: withoutRedis },
  async t => {
    const { servers, clients } = await startRedisCluster(t, { replicas: true })
    const hosts = servers.slice(0, 3).map(({ port }) => `"127.0.0.1:${port}"`)
    const stage = await start(
      t,
      `{ type: redis, cluster: true, hosts: [${hosts.join(', ')}], path: "${temporary(t)}", prefix: fail-over, timeout: 10s }`,
    )
    const spending = stage.spend()
    await until('requests', async () => stage.served() >= BEFORE)
    const owner = await ownerOf(clients.slice(0, 3))
    await servers[owner]?.kill()
    await until(
      'the replica',
      async () => (await clients[owner + 3]?.info('replication'))?.includes('role:master') === true,
    )
    await spending
    await check(t, stage)
  },
)

/** The master with most keys: the accounts are there. */
async function ownerOf(masters: readonly { dbsize(): Promise<number> }[]): Promise<number> {
  const sizes = await Promise.all(masters.map(master => master.dbsize()))
  return sizes.indexOf(Math.max(...sizes))
}

t.test(
  'F-S9 PgBouncer in session mode dies under load and comes back: nothing is lost, nothing is doubled',
  { skip: withoutPostgres || withoutPgbouncer },
  async t => {
    const pooler = await startPgbouncer(t, await startPostgres(t))
    const stage = await start(t, storeYaml(postgresConfig(temporary(t), pooler.port)))
    const spending = stage.spend()
    await until('requests', async () => stage.served() >= BEFORE)
    await pooler.restart()
    await until('more requests', async () => stage.served() >= 2 * BEFORE)
    await pooler.restart()
    await spending
    await check(t, stage)
  },
)
