import t from 'tap'
import { withoutPostgres } from '../helpers/store-servers.js'

// Completions that are stored, and client secrets, once more on a store of this type: the same tests.

process.env.STORE_UNDER_TEST = 'postgres'

if (withoutPostgres === false) {
  await import('./stored-completions.test.js')
  await import('./client-secrets.test.js')
} else {
  console.error(`# SKIPPED: ${withoutPostgres}`)
  t.pass('there is no such server here', { skip: withoutPostgres })
}
