import {
  type Accounts,
  type Commit,
  checkCommit,
  isAccount,
  isDay,
  type LeaseState,
  NOTHING_SPENT,
  type StoredEntry,
  type Tally,
} from '../core/accounts.js'
import { type PostgresPool, type Row, statement } from './postgres-pool.js'
import { bytesOf } from './postgres-records.js'

const COMMIT = statement('SELECT * FROM account_commit($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)')

const READ = statement(`
  SELECT a.name, a.spent, a.held - coalesce((
    SELECT sum(l.held) FROM account_leases l WHERE l.account = a.name AND l.until <= $2
  ), 0) AS held
  FROM accounts a WHERE a.name = ANY ($1::text[]) AND a.expires > $2`)

const ENTRIES = statement('SELECT * FROM ledger_read($1, $2, $3)')
const DAYS = statement('SELECT day FROM ledger_days ORDER BY day')
const DROP_DAY = statement('SELECT ledger_drop($1)')

const SWEEP_LEASES = statement('SELECT account_release($1, $2) AS count')
const SWEEP_ACCOUNTS = statement(`
  DELETE FROM accounts WHERE name = ANY (ARRAY(
    SELECT name FROM accounts WHERE expires <= $1 ORDER BY name LIMIT $2 FOR UPDATE SKIP LOCKED
  )) RETURNING 1`)
const SWEEP_WRITERS = statement(`
  DELETE FROM account_writers WHERE writer = ANY (ARRAY(
    SELECT writer FROM account_writers WHERE remembered <= $1 LIMIT $2 FOR UPDATE SKIP LOCKED
  )) RETURNING 1`)

/** Accounts as rows: a commit is one call of a function. */
export class PostgresAccounts implements Accounts {
  readonly #pool: PostgresPool

  constructor(pool: PostgresPool) {
    this.#pool = pool
  }

  async commit(commit: Commit): Promise<readonly LeaseState[]> {
    this.#pool.checkOpen()
    checkCommit(commit)
    const { writer, number, remembered, now, leases, entries } = commit
    const rows = await this.#pool.query(
      COMMIT,
      ...[writer, number, remembered, now],
      leases.map(({ account }) => account),
      leases.map(({ lease }) => lease),
      leases.map(({ expires }) => expires),
      leases.map(({ bound }) => bound),
      leases.map(({ spend }) => spend),
      leases.map(({ hold }) => hold),
      leases.map(({ until }) => until),
      entries.map(({ day }) => day),
      entries.map(({ value }) => Buffer.from(value)),
    )
    return rows.map(row => ({ ...tallyOf(row), lease: Number(row.lease) }))
  }

  async read(names: readonly string[], now: number): Promise<readonly Tally[]> {
    this.#pool.checkOpen()
    const rows = await this.#pool.query(READ, names.filter(isAccount), now)
    const tallies = new Map(rows.map(row => [String(row.name), tallyOf(row)]))
    return names.map(name => tallies.get(name) ?? NOTHING_SPENT)
  }

  async entries(
    day: string,
    { after, limit }: { readonly after: number; readonly limit: number },
  ): Promise<readonly StoredEntry[]> {
    this.#pool.checkOpen()
    if (!isDay(day)) return []
    const rows = await this.#pool.query(ENTRIES, day, after, limit)
    return rows.map(row => ({ sequence: Number(row.sequence), value: bytesOf(row.value) }))
  }

  async days(): Promise<readonly string[]> {
    return (await this.#pool.query(DAYS)).map(row => String(row.day))
  }

  async dropDay(day: string): Promise<void> {
    this.#pool.checkOpen()
    if (isDay(day)) await this.#pool.query(DROP_DAY, day)
  }

  async sweep(now: number, limit: number): Promise<number> {
    const [released] = await this.#pool.query(SWEEP_LEASES, now, limit)
    const accounts = await this.#pool.query(SWEEP_ACCOUNTS, now, limit)
    const writers = await this.#pool.query(SWEEP_WRITERS, now, limit)
    return Number(released?.count) + accounts.length + writers.length
  }
}

function tallyOf(row: Row): Tally {
  return { spent: Number(row.spent), held: Number(row.held) }
}
