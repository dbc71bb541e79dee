import type t from 'tap'
import { accountPropertyContract } from './store-account-properties.js'
import { accountContract } from './store-accounts.js'
import { blobContract } from './store-blobs.js'
import { leaseContract } from './store-leases.js'
import { recordContract } from './store-records.js'
import { type Check, START, type StoreClients } from './store-stage.js'

export { draft, text } from './store-stage.js'

/** What every driver of the store does. */
export function storeContract(test: Pick<typeof t, 'test'>, clients: StoreClients): void {
  const check: Check = (title, run) => {
    test.test(title, async t => {
      const clock = { now: START }
      const client = clients(t, clock)
      await run(t, await client(), clock, client)
    })
  }
  recordContract(check)
  leaseContract(check)
  accountContract(check)
  accountPropertyContract(check)
  blobContract(check)
}
