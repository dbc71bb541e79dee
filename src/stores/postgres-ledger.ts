import { checkPlace, checkValue, type Entry, isNamespace, type Ledger } from '../core/store.js'
import { type PostgresPool, statement } from './postgres-pool.js'
import { bytesOf } from './postgres-records.js'

/** The row of the ledger is locked until the entry is committed: no number is seen before the ones below it. */
const APPEND = statement(`
  WITH next AS (
    INSERT INTO ledgers VALUES ($1, 1) ON CONFLICT (namespace) DO UPDATE SET last = ledgers.last + 1 RETURNING last
  )
  INSERT INTO ledger_entries SELECT $1, last, $2, $3 FROM next RETURNING sequence`)

const ENTRIES = statement(`
  SELECT sequence, owner, value FROM ledger_entries WHERE namespace = $1 AND sequence > $2 ORDER BY sequence LIMIT $3`)

/** Ledgers as rows that nothing changes. */
export class PostgresLedger implements Ledger {
  readonly #pool: PostgresPool

  constructor(pool: PostgresPool) {
    this.#pool = pool
  }

  async append(namespace: string, owner: string, value: Uint8Array): Promise<number> {
    checkPlace({ namespace, owner, key: '-' })
    checkValue(value)
    const [row] = await this.#pool.query(APPEND, namespace, owner, Buffer.from(value))
    return Number(row?.sequence)
  }

  async entries(
    namespace: string,
    { after = 0, limit }: { readonly after?: number; readonly limit: number },
  ): Promise<readonly Entry[]> {
    this.#pool.checkOpen()
    if (!isNamespace(namespace)) return []
    const rows = await this.#pool.query(ENTRIES, namespace, after, limit)
    return rows.map(row => ({
      sequence: Number(row.sequence),
      owner: String(row.owner),
      value: bytesOf(row.value),
    }))
  }
}
