import type { Change, Claim, Draft, Place, Range, ScanRange, Store, StoredRecord } from '../core/store.js'
import type { PostgresSettings, SchemaFacts, StoreEvents } from '../core/store-config.js'
import { PostgresBlobs } from './postgres-blobs.js'
import { PostgresCounters } from './postgres-counters.js'
import { PostgresLedger } from './postgres-ledger.js'
import { PostgresPool } from './postgres-pool.js'
import { PostgresRecords } from './postgres-records.js'
import { migrate, SCHEMA, schemaVersion } from './postgres-schema.js'

/** Keeps everything in tables of a schema of its own, which any number of gateways share. */
export class PostgresStore implements Store {
  readonly counters: PostgresCounters
  readonly ledger: PostgresLedger
  readonly blobs: PostgresBlobs
  readonly #pool: PostgresPool
  readonly #records: PostgresRecords

  private constructor(pool: PostgresPool, now: () => number) {
    this.#pool = pool
    this.#records = new PostgresRecords(pool, now)
    this.counters = new PostgresCounters(pool)
    this.ledger = new PostgresLedger(pool)
    this.blobs = new PostgresBlobs(pool, now)
  }

  /** What is there, and what this program knows; changes nothing. Throws {@link StoreError}. */
  static async inspect(settings: PostgresSettings, events: StoreEvents): Promise<SchemaFacts> {
    const pool = new PostgresPool(settings, events)
    try {
      return { written: await schemaVersion(pool), known: SCHEMA }
    } finally {
      await pool.close()
    }
  }

  /** Throws {@link StoreError} where the database cannot be used, or a later version of this program uses it. */
  static async open(
    settings: PostgresSettings,
    events: StoreEvents,
    now: () => number = Date.now,
  ): Promise<PostgresStore> {
    const pool = new PostgresPool(settings, events)
    try {
      await migrate(pool, settings.schema)
    } catch (error) {
      await pool.close()
      throw error
    }
    return new PostgresStore(pool, now)
  }

  create(draft: Draft): Promise<StoredRecord | undefined> {
    return this.#records.create(draft)
  }

  get(namespace: string, owner: string, key: string): Promise<StoredRecord | undefined> {
    return this.#records.get({ namespace, owner, key })
  }

  replace(current: StoredRecord, next: Change): Promise<StoredRecord | undefined> {
    return this.#records.replace(current, next)
  }

  delete(current: Place & { readonly version?: number }): Promise<boolean> {
    return this.#records.delete(current)
  }

  list(namespace: string, owner: string, range: Range): Promise<readonly StoredRecord[]> {
    return this.#records.list(namespace, owner, range)
  }

  claim(namespace: string, claim: Claim): Promise<readonly StoredRecord[]> {
    return this.#records.claim(namespace, claim)
  }

  nextDue(namespace: string): Promise<number | undefined> {
    return this.#records.nextDue(namespace)
  }

  scan(namespace: string, range: ScanRange): Promise<readonly StoredRecord[]> {
    return this.#records.scan(namespace, range)
  }

  async sweep(now: number, limit: number): Promise<number> {
    const parts = [this.#records, this.blobs, this.counters]
    const taken = await Promise.all(parts.map(part => part.sweep(now, limit)))
    return taken.reduce((sum, one) => sum + one, 0)
  }

  close(): Promise<void> {
    return this.#pool.close()
  }
}
