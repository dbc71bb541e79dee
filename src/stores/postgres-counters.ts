import {
  type Counter,
  type Counters,
  checkCount,
  checkPlace,
  checkValue,
  type Entry,
  isNamespace,
  isPlace,
  type Ledger,
  NOTHING_COUNTED,
  type Place,
  type Reservation,
  type Settlement,
  type Tally,
} from '../core/store.js'
import { type PostgresPool, type Row, statement } from './postgres-pool.js'
import { bytesOf } from './postgres-records.js'

const RESERVE = statement('SELECT * FROM counter_reserve($1, $2, $3, $4, $5, $6, $7, $8, $9)')
const SETTLE = statement('SELECT * FROM counter_settle($1, $2, $3, $4, $5, $6, $7, $8)')

const READ = statement(`
  SELECT c.spent AS spent_, c.reserved - coalesce((
    SELECT sum(i.amount) FROM counter_items i
    WHERE i.namespace = c.namespace AND i.owner = c.owner AND i.key = c.key AND i.until <= $4
  ), 0) AS reserved_
  FROM counters c WHERE c.namespace = $1 AND c.owner = $2 AND c.key = $3 AND c.expires > $4`)

const SWEEP = statement(`
  DELETE FROM counters WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM counters WHERE expires <= $1 LIMIT $2 FOR UPDATE SKIP LOCKED
  )) RETURNING 1`)

/** Counters as rows, which each step locks. */
export class PostgresCounters implements Counters {
  readonly #pool: PostgresPool

  constructor(pool: PostgresPool) {
    this.#pool = pool
  }

  async reserve(counter: Counter, reservation: Reservation): Promise<Tally | undefined> {
    checkCount(counter, reservation)
    const { namespace, owner, key, expires: end } = counter
    const { id, amount, ceiling, now, expires } = reservation
    const maximum = Math.min(Math.floor(ceiling), Number.MAX_SAFE_INTEGER)
    const [row] = await this.#pool.query(RESERVE, namespace, owner, key, now, end, id, amount, maximum, expires)
    return row && tallyOf(row)
  }

  async settle(counter: Counter, settlement: Settlement): Promise<Tally | undefined> {
    checkCount(counter, settlement)
    const { namespace, owner, key, expires: end } = counter
    const { id, amount, now, until } = settlement
    const [row] = await this.#pool.query(SETTLE, namespace, owner, key, now, end, id, amount, until)
    return row && tallyOf(row)
  }

  async read({ namespace, owner, key }: Place, now: number): Promise<Tally> {
    this.#pool.checkOpen()
    if (!isPlace({ namespace, owner, key })) return NOTHING_COUNTED
    const [row] = await this.#pool.query(READ, namespace, owner, key, now)
    return row === undefined ? NOTHING_COUNTED : tallyOf(row)
  }

  async sweep(now: number, limit: number): Promise<number> {
    return (await this.#pool.query(SWEEP, now, limit)).length
  }
}

function tallyOf(row: Row): Tally {
  return { spent: Number(row.spent_), reserved: Number(row.reserved_) }
}

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
