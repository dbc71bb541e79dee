import { StoreError } from '../core/store.js'
import { MIGRATIONS } from './postgres-migrations.js'
import type { PostgresPool, Value } from './postgres-pool.js'

/** Of this program. */
export const SCHEMA = MIGRATIONS.length

/** The number by which gateways that start at once find that one of them migrates. Any number would do. */
const LOCK = 7_205_111

/** Undefined where there are no tables yet. */
export function schemaVersion(pool: PostgresPool): Promise<number | undefined> {
  return pool.session(written)
}

/**
 * Brings the tables to the schema that this program knows, all or nothing; of several that try at once one does it.
 * Throws {@link StoreError} `newer` where a later version was here.
 */
export async function migrate(pool: PostgresPool, schema: string): Promise<void> {
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
