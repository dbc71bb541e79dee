import type t from 'tap'
import { blobContract } from './store-blobs.js'
import { counterContract } from './store-counters.js'
import { leaseContract } from './store-leases.js'
import { ledgerContract } from './store-ledger.js'
import { recordContract } from './store-records.js'
import { type Check, type OpenStore, START } from './store-stage.js'

export { draft, text } from './store-stage.js'

/** What every driver of the store does. */
export function storeContract(test: Pick<typeof t, 'test'>, open: OpenStore): void {
  const check: Check = (title, run) => {
    test.test(title, async t => {
      const clock = { now: START }
      await run(t, await open(t, clock), clock)
    })
  }
  recordContract(check)
  leaseContract(check)
  counterContract(check)
  ledgerContract(check)
  blobContract(check)
}
