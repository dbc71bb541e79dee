import { createHash } from 'node:crypto'
import pg from 'pg'
import { StoreError } from '../core/store.js'
import type { PostgresSettings, StoreEvents } from '../core/store-config.js'
import {
  isAway,
  isFleeting,
  isReadOnly,
  isUnnamed,
  NO_CONNECTION,
  NONE_FREE,
  postgresFault,
} from './postgres-faults.js'
import { withTimeout } from './with-timeout.js'

/** Calls that wait for a connection at once. */
const MAX_WAITING_CALLS = 10_000
/** Grace after the statement time-out in which the server should cancel the statement itself, milliseconds. */
const CANCEL_GRACE_MS = 500
/** Time-out of one step of a session: a migration of large tables, or the wait for another migration, milliseconds. */
const SESSION_STEP_TIMEOUT_MS = 600_000
/** Maximum attempts of a transaction that the server aborted for serialization. */
const MAX_TRIES = 5
/** A connection that takes so many times the wait for it is given up. */
const MAX_CONNECTING = 4
/** Read-only connections are given up once in this time at most. */
const DOUBT_MS = 1000
/** Interval of attempts to reach a server that went away, milliseconds, with 50 % jitter. */
const PROBE_INTERVAL_MS = 400

export type Value =
  | string
  | number
  | boolean
  | Buffer
  | null
  | readonly string[]
  | readonly number[]
  | readonly Buffer[]

/** A statement with parameters; it is prepared once on each connection. */
interface Statement {
  readonly name: string
  readonly text: string
}

export function statement(text: string): Statement {
  return { name: createHash('sha1').update(text).digest('base64url').slice(0, 20), text }
}

export type Row = Readonly<Record<string, unknown>>

/**
 * Connections with time limits for any state of the server: a call waits for a connection and for its answer only so
 * long. While the server is away calls fail at once, except for an occasional probe.
 */
export class PostgresPool {
  readonly #pool: pg.Pool
  readonly #where: string
  readonly #events: StoreEvents
  readonly #settings: PostgresSettings
  /** Connections in use. */
  #used = 0
  #closed = false
  #away: string | undefined
  #probe: NodeJS.Timeout | undefined
  /** When each connection was made, and when read-only ones were given up last, by `performance.now()`. */
  readonly #connected = new WeakMap<object, number>()
  #doubted = Number.NEGATIVE_INFINITY

  constructor(settings: PostgresSettings, events: StoreEvents) {
    const { host, port, database, user, password, tls, schema, pool, timeout, wait } = settings
    this.#settings = settings
    this.#events = events
    this.#where = `${host}:${port}/${database}`
    this.#pool = new pg.Pool({
      host,
      port,
      database,
      ...(user !== undefined && { user }),
      ...(password !== undefined && { password: password.reveal() }),
      ...(tls !== undefined && { ssl: tls.ca === undefined ? true : { ca: tls.ca } }),
      max: pool,
      connectionTimeoutMillis: MAX_CONNECTING * wait,
      // Not in the first message of a connection: PgBouncer takes neither there.
      onConnect: async client => {
        const isolation = "SET default_transaction_isolation = 'read committed'"
        const text = `SET search_path = "${schema}"; SET statement_timeout = ${timeout}; ${isolation}`
        await client.query({ text, query_timeout: MAX_CONNECTING * wait } as pg.QueryConfig)
      },
      application_name: 'model-gateway',
      keepAlive: true,
      allowExitOnIdle: true,
    })
    // The pool removes idle connections that break; a connection that breaks in use fails its query. The event comes
    // in addition, and without a listener it would end the process.
    this.#pool.on('error', () => undefined)
    this.#pool.on('connect', client => {
      client.on('error', () => undefined)
      this.#connected.set(client, performance.now())
    })
  }

  /** Rows, whose numbers of 64 bits are texts. Throws {@link StoreError}. */
  async query({ name, text }: Statement, ...values: Value[]): Promise<readonly Row[]> {
    for (let tries = 1; ; tries++) {
      try {
        return await this.once({ name, text, values })
      } catch (error) {
        if (error instanceof StoreError) throw error
        if (!isFleeting(error) || tries === MAX_TRIES) throw this.faultOf(error)
        await new Promise(resolve => setTimeout(resolve, Math.random() * 2 ** tries))
      }
    }
  }

  /** One connection for several statements that belong together; it is given up where they fail. */
  async session<T>(
    act: (query: (text: string, values?: Value[]) => Promise<readonly Row[]>) => Promise<T>,
  ): Promise<T> {
    this.checkOpen()
    let client: pg.PoolClient
    try {
      client = await this.connect()
    } catch (error) {
      throw this.faultOf(error)
    }
    try {
      const done = await act(async (text, values = []) => {
        const { rows } = await client.query<Row>({
          text,
          values,
          query_timeout: SESSION_STEP_TIMEOUT_MS,
        } as pg.QueryConfig)
        return rows
      })
      this.release(client)
      return done
    } catch (error) {
      this.release(client, true)
      throw error instanceof StoreError ? error : this.faultOf(error)
    }
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    clearTimeout(this.#probe)
    await this.#pool.end()
  }

  checkOpen(): void {
    if (this.#closed) throw new StoreError('unavailable', 'the store is closed')
  }

  private async once(query: pg.QueryConfig): Promise<readonly Row[]> {
    this.checkOpen()
    if (this.#away !== undefined) throw new StoreError('unavailable', this.#away)
    if (this.#pool.waitingCount >= MAX_WAITING_CALLS) {
      throw new StoreError('unavailable', 'too many calls are waiting for the store')
    }
    const client = await this.connect()
    try {
      const { rows } = await withTimeout(client.query<Row>(query), this.#settings.timeout + CANCEL_GRACE_MS, noAnswer)
      this.release(client)
      return rows
    } catch (error) {
      // A connection with an outstanding answer cannot be reused.
      this.release(client, isAway(error) || (isReadOnly(error) && this.isStale(client)))
      throw error
    }
  }

  /** The pool's own timers would take it for the server's silence where this process stood still. */
  private async connect(): Promise<pg.PoolClient> {
    const { wait } = this.#settings
    const coming = this.#pool.connect()
    try {
      const client = await withTimeout(coming, wait, () => new Error(this.#isConnecting ? NO_CONNECTION : NONE_FREE))
      this.#used++
      return client
    } catch (error) {
      coming.then(client => client.release()).catch(() => undefined)
      throw error
    }
  }

  /**
   * Whether a connection to a server that is read-only is given up for another one, which may lead to the new primary. Each is
   * once a second at most: where there is no other server, reads continue.
   */
  private isStale(client: pg.PoolClient): boolean {
    const now = performance.now()
    if (now - this.#doubted > DOUBT_MS) this.#doubted = now
    return (this.#connected.get(client) ?? 0) < this.#doubted
  }

  private release(client: pg.PoolClient, broken = false): void {
    this.#used--
    client.release(broken)
  }

  get #isConnecting(): boolean {
    return this.#pool.totalCount - this.#pool.idleCount > this.#used
  }

  private faultOf(error: unknown): StoreError {
    const fault = postgresFault(error, this.#where, this.#settings)
    const hasOthers = this.#used + this.#pool.idleCount > 0
    if (isAway(error) && !(isUnnamed(error) && hasOthers)) this.leave(fault.message)
    return fault
  }

  private leave(message: string): void {
    if (this.#away !== undefined || this.#closed) return
    this.#away = message
    this.#events.down(message)
    this.probeLater()
  }

  private probeLater(): void {
    this.#probe = setTimeout(() => void this.probe(), PROBE_INTERVAL_MS * (0.5 + Math.random()))
    this.#probe.unref()
  }

  private async probe(): Promise<void> {
    const { password, wait } = this.#settings
    const timeout = Math.max(2 * PROBE_INTERVAL_MS, wait)
    const client = new pg.Client({
      ...this.#pool.options,
      // The pool hides its own.
      ...(password !== undefined && { password: password.reveal() }),
      connectionTimeoutMillis: timeout,
      query_timeout: timeout,
    })
    client.on('error', () => undefined)
    try {
      await client.connect()
      await client.query('SELECT 1')
    } catch {
      if (!this.#closed) this.probeLater()
      return
    } finally {
      client.end().catch(() => undefined)
    }
    if (this.#closed) return
    this.#away = undefined
    this.#events.up()
  }
}

function noAnswer(): Error {
  return new Error('Query read timeout')
}
