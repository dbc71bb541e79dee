import t from 'tap'
import { withoutRedis } from '../helpers/store-servers.js'

// What the gateway keeps for keys, once more on a store of this type: the same tests.

process.env.STORE_UNDER_TEST = 'redis'

if (withoutRedis === false) {
  await import('./hosted-conversations.test.js')
  await import('./stored-completions.test.js')
  await import('./client-secrets.test.js')
} else {
  console.error(`# SKIPPED: ${withoutRedis}`)
  t.pass('there is no such server here', { skip: withoutRedis })
}
