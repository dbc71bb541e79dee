import t from 'tap'
import { withoutPostgres } from '../helpers/store-servers.js'

// Conversations that have an id, once more on a store of this type: the same tests.

process.env.STORE_UNDER_TEST = 'postgres'

if (withoutPostgres === false) {
  await import('./hosted-conversations.test.js')
} else {
  console.error(`# SKIPPED: ${withoutPostgres}`)
  t.pass('there is no such server here', { skip: withoutPostgres })
}
