import type { PostgresSettings, SchemaFacts, StoreEvents } from '../core/store-config.js'
import { DriverStore } from './driver-store.js'
import { PostgresBlobs } from './postgres-blobs.js'
import { PostgresCounters } from './postgres-counters.js'
import { PostgresLedger } from './postgres-ledger.js'
import { PostgresPool } from './postgres-pool.js'
import { PostgresRecords } from './postgres-records.js'
import { migrate, SCHEMA, schemaVersion } from './postgres-schema.js'

/** Stores everything in tables of its own schema, which any number of gateways share. */
export class PostgresStore extends DriverStore {
  override readonly counters: PostgresCounters
  override readonly ledger: PostgresLedger
  override readonly blobs: PostgresBlobs
  readonly #pool: PostgresPool

  private constructor(pool: PostgresPool, now: () => number) {
    super(new PostgresRecords(pool, now))
    this.#pool = pool
    this.counters = new PostgresCounters(pool)
    this.ledger = new PostgresLedger(pool)
    this.blobs = new PostgresBlobs(pool, now)
  }

  /** The schema version of the store and of this program; changes nothing. Throws {@link StoreError}. */
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

  override async sweep(now: number, limit: number): Promise<number> {
    const parts = [this.records, this.blobs, this.counters]
    const taken = await Promise.all(parts.map(part => part.sweep(now, limit)))
    return taken.reduce((sum, one) => sum + one, 0)
  }

  override close(): Promise<void> {
    return this.#pool.close()
  }
}
