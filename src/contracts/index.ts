import { isDeepStrictEqual } from 'node:util'
import type { Store } from '../core/store.js'
import { accountContract } from './store-accounts.js'
import { blobContract } from './store-blobs.js'
import { leaseContract } from './store-leases.js'
import { recordContract } from './store-records.js'
import { type Asserts, type Case, type Clock, START } from './store-stage.js'

export type { StoreEvents } from '../core/store-config.js'

/** Opens a client of a store. All clients of one case share what is stored, and take the time from `now`. */
export type OpenClient = (now: () => number) => Store | Promise<Store>

/** Declares a test, as `test` of `node:test`, Vitest, Jest and tap do. */
export type Declare = (title: string, run: () => Promise<void>) => unknown

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

/** The few assertions that the cases need, without a test framework. */
const ASSERTS: Asserts = {
  comment: () => undefined,
  ok: (value, message?: string) => hold(Boolean(value), message ?? 'the value is not true', value),
  equal: (found, wanted, message?: string) =>
    hold(Object.is(found, wanted), message ?? 'the values differ', found, wanted),
  not: (found, unwanted, message?: string) =>
    hold(!Object.is(found, unwanted), message ?? 'the values are the same', found),
  same: (found, wanted, message?: string) =>
    hold(isDeepStrictEqual(found, wanted), message ?? 'the values differ', found, wanted),
  match: (found, members, message?: string) =>
    hold(has(found, members), message ?? 'the members differ', found, members),
  rejects: async (promise, members, message?: string) => {
    const outcome = await promise.then(
      () => NOT_REJECTED,
      (error: unknown) => error,
    )
    hold(has(outcome, members), message ?? 'it is not rejected as expected', outcome, members)
  },
}

const NOT_REJECTED = 'no rejection'

function has(found: unknown, members: object): boolean {
  if (typeof found !== 'object' || found === null) return false
  return Object.entries(members).every(([name, value]) => Object.is(Reflect.get(found, name), value))
}

/** A failed expectation of {@link storeContract}, with what was found. */
class ContractError extends Error {
  override readonly name = 'ContractError'
}

function hold(isTrue: boolean, message: string, ...values: readonly unknown[]): void {
  if (isTrue) return
  throw new ContractError([message, ...values.map(shown)].join('\n  '))
}

function shown(value: unknown): string {
  if (value instanceof Error) return String(value)
  return JSON.stringify(value, (_name, inner) => (typeof inner === 'bigint' ? String(inner) : inner)) ?? 'undefined'
}
