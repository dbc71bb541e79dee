import { StoreError } from '../core/store.js'
import type { PostgresSettings, SchemaFacts, StoreEvents } from '../core/store-config.js'
import { DriverStore } from './driver-store.js'
import { PostgresAccounts } from './postgres-accounts.js'
import { PostgresBlobs } from './postgres-blobs.js'
import { MIGRATIONS } from './postgres-migrations.js'
import { PostgresPool, type Value } from './postgres-pool.js'
import { PostgresRecords } from './postgres-records.js'

/** Of this program. */
const SCHEMA = MIGRATIONS.length

/** The number by which gateways that start at once find that one of them migrates. Any number would do. */
const LOCK = 7_205_111

/** Undefined where there are no tables yet. */
function schemaVersion(pool: PostgresPool): Promise<number | undefined> {
  return pool.session(written)
}

/**
 * Brings the tables to the schema that this program knows, all or nothing; of several that try at once one does it.
 * Throws {@link StoreError} `newer` where a later version was here.
 */
async function migrate(pool: PostgresPool, schema: string): Promise<void> {
  if ((await schemaVersion(pool)) === SCHEMA) return
  await pool.session(async query => {
    await query('BEGIN')
    await query('SET LOCAL statement_timeout = 0')
    await query('SELECT pg_advisory_xact_lock($1)', [LOCK])
    const [missing] = await query(
      "SELECT format('CREATE SCHEMA %I', $1::text) AS command WHERE to_regnamespace(quote_ident($1)) IS NULL",
      [schema],
    )
    if (missing !== undefined) await query(String(missing.command))
    await query('CREATE TABLE IF NOT EXISTS schema_version (version integer NOT NULL)')
    const from = (await written(query)) ?? 0
    if (from > SCHEMA) throw newer(from)
    for (const command of MIGRATIONS.slice(from).flat()) await query(command)
    await query('DELETE FROM schema_version')
    await query('INSERT INTO schema_version VALUES ($1)', [SCHEMA])
    await query('COMMIT')
  })
}

async function written(
  query: (text: string, values?: Value[]) => Promise<readonly Readonly<Record<string, unknown>>[]>,
): Promise<number | undefined> {
  const [table] = await query("SELECT to_regclass('schema_version') IS NOT NULL AS known")
  if (table?.known !== true) return undefined
  const [row] = await query('SELECT version FROM schema_version')
  return row === undefined ? undefined : Number(row.version)
}

function newer(version: number): StoreError {
  const message = `the store was written by a newer version (schema ${version}; this one supports ${SCHEMA})`
  return new StoreError('newer', message)
}

/** Stores everything in tables of its own schema, which any number of gateways share. */
export class PostgresStore extends DriverStore {
  override readonly accounts: PostgresAccounts
  override readonly blobs: PostgresBlobs
  readonly #pool: PostgresPool

  private constructor(pool: PostgresPool, now: () => number) {
    super(new PostgresRecords(pool, now))
    this.#pool = pool
    this.accounts = new PostgresAccounts(pool)
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
    const parts = [this.records, this.blobs, this.accounts]
    const taken = await Promise.all(parts.map(part => part.sweep(now, limit)))
    return taken.reduce((sum, one) => sum + one, 0)
  }

  override close(): Promise<void> {
    return this.#pool.close()
  }
}
