import type { Accounts, Tally } from '../core/accounts.js'
import type { LedgerRecord } from '../core/ledger.js'
import type { Plan } from '../core/plan.js'
import { type Store, StoreError } from '../core/store.js'
import { dayOf, droppedUntil } from './ledger-retention.js'
import { StartError } from './problems.js'
import { openStore } from './stores.js'

/** Entries that are read at a time. */
const PAGE_ENTRIES = 1000
const LAST_DAY = '9999-12-31'
const LATEST_MS = Date.parse(LAST_DAY)
const DAY_MS = 86_400_000

/** What part of the ledger to read. Days are UTC, `2026-11-23`, both included; moments are milliseconds since the epoch. */
export interface LedgerRange {
  readonly firstDay?: string
  readonly lastDay?: string
  readonly since?: number
  readonly until?: number
}

/** Some entries of a day, in order. */
export interface LedgerPage {
  readonly day: string
  readonly records: readonly LedgerRecord[]
}

/** How far each day has been read: the sequence number of its last entry. */
export type LedgerPlaces = Map<string, number>

/** The ledger of a gateway, for those who look after it. It may run meanwhile, or not. Nothing is changed. */
export class LedgerStore {
  readonly #store: Store
  readonly #accounts: Accounts

  constructor(store: Store) {
    this.#store = store
    this.#accounts = store.accounts
  }

  /** Throws {@link StartError} where the store cannot be opened, or is nowhere but in a running process. */
  static async open({ store }: Plan): Promise<LedgerStore> {
    if (store.type === 'memory') {
      throw new StartError(
        "the ledger is in the gateway's memory (store: { type: memory }), so this command cannot see it",
      )
    }
    return new LedgerStore(await openStore(store))
  }

  /** Pages of the entries in the range, oldest day first. */
  async *pages(range: LedgerRange = {}, places: LedgerPlaces = new Map()): AsyncGenerator<LedgerPage, void, void> {
    const { since = 0, until = Number.POSITIVE_INFINITY } = range
    // An entry's day is that of its moment; of the one after it where it was written around midnight.
    const { firstDay = dayOf(since), lastDay = until < LATEST_MS ? dayOf(until + DAY_MS) : LAST_DAY } = range
    for (const day of await this.#accounts.days()) {
      if (day < firstDay || day > lastDay) continue
      for (;;) {
        const entries = await this.#accounts.entries(day, { after: places.get(day) ?? 0, limit: PAGE_ENTRIES })
        const records = entries.map(entry => recordOf(day, entry.sequence, entry.value))
        const last = entries.at(-1)
        if (last !== undefined) places.set(day, last.sequence)
        yield { day, records: records.filter(({ at }) => at >= since && at <= until) }
        if (entries.length < PAGE_ENTRIES) break
      }
    }
  }

  /** What the accounts have spent and hold, in the order of their names. */
  async tallies(names: readonly string[]): Promise<readonly Tally[]> {
    const found: Tally[] = []
    for (let at = 0; at < names.length; at += PAGE_ENTRIES) {
      found.push(...(await this.#accounts.read(names.slice(at, at + PAGE_ENTRIES), Date.now())))
    }
    return found
  }

  /** The last day that the retention has removed. */
  async droppedUntil(): Promise<string | undefined> {
    return await droppedUntil(this.#store)
  }

  async close(): Promise<void> {
    await this.#store.close()
  }
}

/** Throws {@link StoreError} if the entry is not a record. */
function recordOf(day: string, sequence: number, value: Uint8Array): LedgerRecord {
  try {
    const record: unknown = JSON.parse(Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('utf8'))
    if (typeof record === 'object' && record !== null && 'at' in record && 'charges' in record) {
      return record as LedgerRecord
    }
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
  }
  throw new StoreError('corrupt', `entry ${sequence} of ${day} in the ledger cannot be read`)
}
