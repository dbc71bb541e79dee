import t from 'tap'
import type { PostgresSettings, StoreEvents } from '../../src/core/store-config.js'
import { PostgresStore } from '../../src/stores/postgres.js'
import { storeContract } from '../contracts/store.js'
import { startPostgres, withoutPostgres } from '../helpers/store-servers.js'

const QUIET: StoreEvents = { warn: () => undefined, down: () => undefined, up: () => undefined }

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

/** Each store has a schema of its own, and so begins empty. */
function settings(port: number, parts: Partial<PostgresSettings> = {}): PostgresSettings {
  const where = { host: '127.0.0.1', port, database: 'gateway', user: 'gateway', schema: `test_${stores++}` }
  return { ...where, pool: 8, timeout: 10_000, wait: 10_000, ...parts }
}
