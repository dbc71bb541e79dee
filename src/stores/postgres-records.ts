import {
  type Change,
  type Claim,
  checkDraft,
  checkValue,
  type Draft,
  dueAfter,
  firstVersion,
  isNamespace,
  isPlace,
  isShelf,
  type Place,
  type Range,
  type ScanRange,
  type StoredRecord,
} from '../core/store.js'
import { type PostgresPool, type Row, statement } from './postgres-pool.js'
import { PostgresReads } from './postgres-reads.js'

const CREATE = statement(`
  INSERT INTO records (namespace, owner, key, created, expires, due, version, fence, value)
  VALUES ($1, $2, $3, $4, $5, $6, $9, 0, $7)
  ON CONFLICT (namespace, owner, key) DO UPDATE
  SET created = excluded.created, expires = excluded.expires, due = excluded.due, version = excluded.version, fence = 0,
    value = excluded.value
  WHERE records.expires <= $8
  RETURNING 1`)

const REPLACE = statement(`
  UPDATE records SET value = $5, expires = $6, due = $7, version = version + 1
  WHERE namespace = $1 AND owner = $2 AND key = $3 AND version = $4 AND expires > $8
  RETURNING 1`)

const DELETE = statement(`
  DELETE FROM records
  WHERE namespace = $1 AND owner = $2 AND key = $3 AND ($4::bigint IS NULL OR version = $4) AND expires > $5
  RETURNING 1`)

const ASCENDING = statement(`
  SELECT * FROM records
  WHERE namespace = $1 AND owner = $2 AND (created, key) > ($3::double precision, $4::text) AND expires > $5
  ORDER BY created, key LIMIT $6`)

const DESCENDING = statement(`
  SELECT * FROM records
  WHERE namespace = $1 AND owner = $2 AND (created, key) < ($3::double precision, $4::text) AND expires > $5
  ORDER BY created DESC, key DESC LIMIT $6`)

const SCAN = statement(`
  SELECT * FROM records
  WHERE namespace = $1 AND (owner, created, key) > ($2::text, $3::double precision, $4::text) AND expires > $5
  ORDER BY owner, created, key LIMIT $6`)

/** Rows that another claimer has in its hands are passed over, and not waited for. */
const CLAIM = statement(`
  WITH waiting AS (
    SELECT namespace, owner, key, due FROM records
    WHERE namespace = $1 AND due <= $2 AND expires > $2
    ORDER BY due LIMIT $4 FOR UPDATE SKIP LOCKED
  )
  UPDATE records r SET due = $3, version = r.version + 1, fence = r.fence + 1
  FROM waiting w WHERE r.namespace = w.namespace AND r.owner = w.owner AND r.key = w.key
  RETURNING r.*, w.due AS was`)

const NEXT_DUE = statement(
  'SELECT due FROM records WHERE namespace = $1 AND due IS NOT NULL AND expires > $2 ORDER BY due LIMIT 1',
)

const SWEEP = statement(`
  DELETE FROM records WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM records WHERE expires <= $1 LIMIT $2 FOR UPDATE SKIP LOCKED
  )) RETURNING 1`)

/** Records as rows. */
export class PostgresRecords {
  readonly #pool: PostgresPool
  readonly #now: () => number
  readonly #reads: PostgresReads

  constructor(pool: PostgresPool, now: () => number) {
    this.#pool = pool
    this.#now = now
    this.#reads = new PostgresReads(pool, now)
  }

  async create(draft: Draft): Promise<StoredRecord | undefined> {
    checkDraft(draft)
    const { namespace, owner, key, created, expires, due = null, value } = draft
    const version = firstVersion()
    const values = [namespace, owner, key, created, expires, due, Buffer.from(value), this.#now(), version] as const
    const [done] = await this.#pool.query(CREATE, ...values)
    return done === undefined ? undefined : { ...draft, version, fence: 0 }
  }

  async get(place: Place): Promise<StoredRecord | undefined> {
    this.#pool.checkOpen()
    if (!isPlace(place)) return undefined
    const row = await this.#reads.get(place)
    return row && recordIn(place, row)
  }

  async replace(current: StoredRecord, change: Change): Promise<StoredRecord | undefined> {
    checkValue(change.value)
    const { due: _, ...rest } = current
    const next: StoredRecord = {
      ...rest,
      ...dueAfter(current, change),
      value: change.value,
      expires: change.expires ?? current.expires,
      version: current.version + 1,
    }
    const { namespace, owner, key, version } = current
    const values = [Buffer.from(next.value), next.expires, next.due ?? null, this.#now()] as const
    const [done] = await this.#pool.query(REPLACE, namespace, owner, key, version, ...values)
    return done && next
  }

  async delete(current: Place & { readonly version?: number }): Promise<boolean> {
    this.#pool.checkOpen()
    if (!isPlace(current)) return false
    const { namespace, owner, key, version = null } = current
    return (await this.#pool.query(DELETE, namespace, owner, key, version, this.#now())).length > 0
  }

  async list(namespace: string, owner: string, { order, after, limit }: Range): Promise<readonly StoredRecord[]> {
    this.#pool.checkOpen()
    if (!isShelf(namespace, owner)) return []
    const [query, start] = order === 'ascending' ? [ASCENDING, -Infinity] : [DESCENDING, Infinity]
    const { created, key } = after ?? { created: start, key: '' }
    return (await this.#pool.query(query, namespace, owner, created, key, this.#now(), limit)).map(recordOf)
  }

  async scan(namespace: string, { after, limit }: ScanRange): Promise<readonly StoredRecord[]> {
    this.#pool.checkOpen()
    if (!isNamespace(namespace)) return []
    const { owner, created, key } = after ?? { owner: '', created: 0, key: '' }
    return (await this.#pool.query(SCAN, namespace, owner, created, key, this.#now(), limit)).map(recordOf)
  }

  async claim(namespace: string, { now, until, limit }: Claim): Promise<readonly StoredRecord[]> {
    const rows = await this.#pool.query(CLAIM, namespace, now, until, limit)
    return [...rows].sort((a, b) => Number(a.was) - Number(b.was)).map(recordOf)
  }

  async nextDue(namespace: string): Promise<number | undefined> {
    const [row] = await this.#pool.query(NEXT_DUE, namespace, this.#now())
    return row && Number(row.due)
  }

  async sweep(now: number, limit: number): Promise<number> {
    return (await this.#pool.query(SWEEP, now, limit)).length
  }
}

function recordOf(row: Row): StoredRecord {
  const place = { namespace: String(row.namespace), owner: String(row.owner), key: String(row.key) }
  return recordIn(place, row)
}

function recordIn({ namespace, owner, key }: Place, row: Row): StoredRecord {
  const due = row.due
  return {
    namespace,
    owner,
    key,
    created: Number(row.created),
    expires: Number(row.expires),
    ...(typeof due === 'number' && { due }),
    version: Number(row.version),
    fence: Number(row.fence),
    value: bytesOf(row.value),
  }
}

export function bytesOf(value: unknown): Buffer {
  return Buffer.isBuffer(value) ? value : Buffer.alloc(0)
}
