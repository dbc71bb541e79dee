import type { Store } from '../core/store.js'
import { ASSERTS, type Declare } from './asserts.js'
import { accountContract } from './store-accounts.js'
import { blobContract } from './store-blobs.js'
import { leaseContract } from './store-leases.js'
import { recordContract } from './store-records.js'
import { type Case, type Clock, START } from './store-stage.js'

export type { StoreEvents } from '../core/store-config.js'
export type { Declare } from './asserts.js'
export { type CheckSamples, checkContract, type SampleRequest } from './check.js'
export { type CredentialSamples, credentialContract } from './credential.js'

/** Opens a client of a store. All clients of one case share what is stored, and take the time from `now`. */
export type OpenClient = (now: () => number) => Store | Promise<Store>

/**
 * What the gateway expects of every store, as tests: declare them for a store module of your own.
 *
 * @param declare is called once for each behaviour.
 * @param prepare makes an empty store for one test, and returns what opens clients of it. The tests close these.
 */
export function storeContract(declare: Declare, prepare: () => OpenClient | Promise<OpenClient>): void {
  for (const { title, run } of storeCases()) {
    declare(title, async () => {
      const clock: Clock = { now: START }
      const clients: Store[] = []
      const open = await prepare()
      const again = async (): Promise<Store> => {
        const client = await open(() => clock.now)
        clients.push(client)
        return client
      }
      try {
        await run(ASSERTS, await again(), clock, again)
      } finally {
        await Promise.all([...new Set(clients)].map(client => client.close()))
      }
    })
  }
}

/** All behaviours, in the order in which drivers are built. */
export function storeCases(): readonly Case[] {
  const cases: Case[] = []
  for (const contract of [recordContract, leaseContract, accountContract, blobContract])
    contract((title, run) => cases.push({ title, run }))
  return cases
}
