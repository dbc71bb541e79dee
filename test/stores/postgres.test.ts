import dns from 'node:dns'
import t from 'tap'
import { HOUR_MS, START } from '../../src/contracts/store-stage.js'
import type { PostgresSettings, StoreEvents } from '../../src/core/store-config.js'
import { PostgresStore } from '../../src/stores/postgres.js'
import { storeContract } from '../contracts/store.js'
import { heard } from '../helpers/store-events.js'
import { startPostgres, withoutPostgres } from '../helpers/store-servers.js'

const QUIET: StoreEvents = { warn: () => undefined, down: () => undefined, up: () => undefined }

const DAY = '2027-01-15'

let stores = 0

t.test('a server', { skip: withoutPostgres }, async t => {
  const { port } = await startPostgres(t)
  storeContract(t, (test, clock) => {
    const own = settings(port)
    return async () => {
      const store = await PostgresStore.open(own, QUIET, () => clock.now)
      test.teardown(() => store.close())
      return store
    }
  })
})

t.test(
  'a database whose transactions are serializable is opened by several at once',
  { skip: withoutPostgres },
  async t => {
    const { port } = await startPostgres(t, { default_transaction_isolation: 'serializable' })
    const own = settings(port)
    const opened = await Promise.all([1, 2, 3, 4].map(() => PostgresStore.open(own, QUIET)))
    for (const store of opened) t.teardown(() => store.close())
    const commits = Array.from({ length: 100 }, (_, n) => {
      const parts = { number: 1, remembered: START + HOUR_MS, now: START, leases: [] }
      return opened[n % 4]?.accounts.commit({
        writer: `w${n}`,
        ...parts,
        entries: [{ day: DAY, value: Buffer.from('{}') }],
      })
    })
    await Promise.all(commits)
    t.equal((await opened[0]?.accounts.entries(DAY, { after: 0, limit: 200 }))?.length, 100)
  },
)

t.test('a server whose name is gone is away, and back with its name', { skip: withoutPostgres }, async t => {
  const server = await startPostgres(t)
  const { lookup } = dns
  const name = (answer: (done: (...answers: unknown[]) => void, all: boolean) => void): void => {
    const look = (host: string, options: { all?: boolean }, done: (...answers: unknown[]) => void): void =>
      host === 'database.test' ? answer(done, options.all === true) : lookup(host, options as object, done as never)
    dns.lookup = look as typeof lookup
  }
  t.teardown(() => {
    dns.lookup = lookup
  })
  const address = '127.0.0.1'
  const found = (): void => name((done, all) => (all ? done(null, [{ address, family: 4 }]) : done(null, address, 4)))
  found()
  const { events, told } = heard()
  const store = await PostgresStore.open(settings(server.port, { host: 'database.test' }), events)
  t.teardown(() => store.close())
  name(done => done(Object.assign(new Error('getaddrinfo ENOTFOUND database.test'), { code: 'ENOTFOUND' })))
  await server.kill()
  await t.rejects(store.get('things', 'ann', 'a'), { name: 'StoreError', fault: 'unavailable' })
  await t.rejects(store.get('things', 'ann', 'a'), { name: 'StoreError', fault: 'unavailable' })
  t.same(told.items, ['down'])
  await server.restart()
  found()
  await told.find(event => event === 'up')
  t.equal(await store.get('things', 'ann', 'a'), undefined)
})

/** Each store has a schema of its own, and so begins empty. */
function settings(port: number, parts: Partial<PostgresSettings> = {}): PostgresSettings {
  const where = { host: '127.0.0.1', port, database: 'gateway', user: 'gateway', schema: `test_${stores++}` }
  return { ...where, pool: 8, timeout: 10_000, wait: 10_000, ...parts }
}
