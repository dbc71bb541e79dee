import type t from 'tap'
import { storeCases } from '../../src/contracts/index.js'
import { type Check, type Clock, START } from '../../src/contracts/store-stage.js'
import type { Store } from '../../src/core/store.js'
import { accountPropertyContract } from './store-account-properties.js'

export { draft, text } from '../../src/contracts/store-stage.js'

/** Returns what opens clients of one empty store; they take the time from the clock and are closed when the test ends. */
export type StoreClients = (test: Pick<typeof t, 'teardown'>, clock: Clock) => () => Promise<Store>

/** What every driver of the store does: the exported contract, and properties. */
export function storeContract(test: Pick<typeof t, 'test'>, clients: StoreClients): void {
  const check: Check = (title, run) => {
    test.test(title, async t => {
      const clock = { now: START }
      const client = clients(t, clock)
      await run(t, await client(), clock, client)
    })
  }
  for (const { title, run } of storeCases()) check(title, run)
  accountPropertyContract(check)
}
