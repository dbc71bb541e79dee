import t from 'tap'
import type { RedisSettings, StoreEvents } from '../../src/core/store-config.js'
import { RedisStore } from '../../src/stores/redis.js'
import { storeContract } from '../contracts/store.js'
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

/** Each store has a prefix of its own, and so begins empty. */
function settings(port: number, parts: Partial<RedisSettings> = {}): RedisSettings {
  const nodes = [{ host: '127.0.0.1', port }]
  return { mode: 'single', nodes, database: 0, prefix: `test-${stores++}`, timeout: 5000, ...parts }
}
