import { Cluster, type Redis } from 'ioredis'
import { StoreError } from '../core/store.js'
import type { RedisSettings, StoreEvents } from '../core/store-config.js'
import { redisFault } from './redis-answers.js'
import { OPEN_TIMEOUT_MS, redisClient } from './redis-client.js'
import type { Script } from './redis-scripts.js'
import { afterPolling, withTimeout } from './with-timeout.js'

/** Commands that wait for their answer at once. */
const MAX_WAITING_COMMANDS = 10_000
/** A server that answers nothing for this many command time-outs hangs. */
const MAX_SILENT_TIMEOUTS = 3
/** Extra time of a command for each byte that it carries, milliseconds: 10 MB a second. */
const MS_PER_BYTE = 1 / 10_000
/** The same for each of its arguments, milliseconds: a commit of a thousand leases is one script. */
const MS_PER_ARGUMENT = 1 / 20
/** Time in which a recovered server should accept this connection, milliseconds. */
const RECOVERY_TIMEOUT_MS = 1000
/** How often the connection to a read-only server is renewed, milliseconds. */
const RECONNECT_INTERVAL_MS = 1000

type Argument = string | number | Buffer

/**
 * A connection with time limits for any state of the server: nothing is queued while it is away, a late command
 * fails, and a server that answers nothing at all counts as away until it answers again.
 */
export class RedisConnection {
  readonly #client: Redis | Cluster
  readonly #timeout: number
  readonly #where: string
  readonly #events: StoreEvents
  #waiting = 0
  /** When the last answer came, and since when none has come although commands wait, of `performance.now`. */
  #lastReply = Number.NEGATIVE_INFINITY
  #silentSince: number | undefined
  #opened = false
  #closed = false
  #down = false
  #reason = 'the connection is closed'
  #entering: NodeJS.Timeout | undefined
  /** The connection is being renewed on purpose. */
  #renewing = false
  #renewed = Number.NEGATIVE_INFINITY

  private constructor(settings: RedisSettings, events: StoreEvents) {
    this.#timeout = settings.timeout
    this.#events = events
    this.#where = settings.nodes.map(({ host, port }) => `${host}:${port}`).join(', ')
    this.#client = redisClient(
      settings,
      () => this.#opened,
      () => this.renew(),
    )
    this.#client.on('error', (error: Error) => {
      if (!isUnsent(error)) this.#reason = reasonOf(error)
      // The client would continue in database 0, which another gateway may use.
      if (isOfSelect(error)) this.#client.disconnect(this.#opened)
    })
    this.#client.on('connect', () => this.enter())
    this.#client.on('close', () => this.away())
    this.#client.on('ready', () => this.back())
  }

  /** Throws {@link StoreError} where the server cannot be used. */
  static async open(settings: RedisSettings, events: StoreEvents): Promise<RedisConnection> {
    const connection = new RedisConnection(settings, events)
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error('no answer in time')), OPEN_TIMEOUT_MS)
    })
    try {
      await Promise.race([connection.#client.connect(), late])
    } catch (error) {
      connection.#closed = true
      connection.#client.disconnect()
      throw connection.refusal(error)
    } finally {
      clearTimeout(timer)
    }
    connection.#opened = true
    return connection
  }

  /** Answers are buffers, numbers, null, and lists of these. Throws {@link StoreError}. */
  async send(command: string, ...values: Argument[]): Promise<unknown> {
    if (this.#closed) throw new StoreError('unavailable', 'the store is closed')
    if (this.#client.status !== 'ready') throw this.unreachable()
    if (this.#waiting >= MAX_WAITING_COMMANDS)
      throw new StoreError('unavailable', 'too many calls are waiting for the store')
    this.#waiting++
    try {
      const bytes = values.reduce<number>((sum, value) => sum + (Buffer.isBuffer(value) ? value.length : 0), 0)
      const timeoutMs = this.#timeout + bytes * MS_PER_BYTE + values.length * MS_PER_ARGUMENT
      const sent = this.#client.callBuffer(command, ...values)
      const answer = await withTimeout(sent, timeoutMs, () => this.late(), this.#lastHeard)
      this.onReply()
      return answer
    } catch (error) {
      if (error instanceof StoreError) throw error
      this.onReply()
      throw isUnsent(error) ? this.unreachable() : redisFault(error, this.#where)
    } finally {
      this.#waiting--
    }
  }

  async run({ lua, sha }: Script, keys: readonly string[], ...values: Argument[]): Promise<unknown> {
    try {
      return await this.send('evalsha', sha, keys.length, ...keys, ...values)
    } catch (error) {
      const unknown = error instanceof StoreError && String(error.cause).includes('NOSCRIPT')
      if (!unknown) throw error
      return this.send('eval', lua, keys.length, ...keys, ...values)
    }
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    clearTimeout(this.#entering)
    this.#client.disconnect()
  }

  checkOpen(): void {
    if (this.#closed) throw new StoreError('unavailable', 'the store is closed')
  }

  private onReply(): void {
    this.#lastReply = performance.now()
    this.#silentSince = undefined
  }

  /** Answers come in the order of the commands. Of a cluster's nodes, one that answers says nothing of the others. */
  readonly #lastHeard = (): number => (this.#client instanceof Cluster ? Number.NEGATIVE_INFINITY : this.#lastReply)

  private late(): StoreError {
    const now = performance.now()
    this.#silentSince ??= now - this.#timeout
    if (now - this.#silentSince >= MAX_SILENT_TIMEOUTS * this.#timeout && !(this.#client instanceof Cluster)) {
      this.#reason = 'no answer in time'
      this.#client.disconnect(true)
      this.away()
    }
    return new StoreError('unavailable', `the store at ${this.#where} did not answer within ${this.#timeout} ms`)
  }

  private unreachable(): StoreError {
    return new StoreError('unavailable', `the store at ${this.#where} cannot be reached (${this.#reason})`)
  }

  /** A server that hangs takes connections, and says nothing on them: another one is tried. */
  private enter(): void {
    clearTimeout(this.#entering)
    if (!this.#opened || this.#client instanceof Cluster) return
    const again = (): void => {
      if (!this.#closed && this.#client.status === 'connect') this.#client.disconnect(true)
    }
    this.#entering = setTimeout(() => afterPolling(again), RECOVERY_TIMEOUT_MS)
    this.#entering.unref()
  }

  private renew(): boolean {
    const now = performance.now()
    if (now < this.#renewed + RECONNECT_INTERVAL_MS) return false
    this.#renewed = now
    this.#renewing = true
    return true
  }

  private away(): void {
    clearTimeout(this.#entering)
    if (this.#renewing) {
      this.#renewing = false
      return
    }
    if (this.#down || this.#closed || !this.#opened) return
    this.#down = true
    this.#events.down(this.unreachable().message)
  }

  private back(): void {
    clearTimeout(this.#entering)
    this.#renewing = false
    this.#silentSince = undefined
    if (!this.#down) return
    this.#down = false
    this.#events.up()
  }

  private refusal(error: unknown): StoreError {
    const reason =
      error instanceof Error && /^(NOAUTH|WRONGPASS|ERR invalid|ERR AUTH)/.test(this.#reason) ? this.#reason : ''
    const text = reason || (this.#reason === 'the connection is closed' ? reasonOf(error) : this.#reason)
    return new StoreError('refused', `the store at ${this.#where} cannot be used (${text})`, error)
  }
}

/** The client's own words for a connection that is going, or gone. */
function isUnsent(error: unknown): boolean {
  return error instanceof Error && /^(Stream isn't writeable|Connection is closed)/.test(error.message)
}

/** Whether the server has no such database, or does not permit it to this user. */
function isOfSelect(error: Error & { readonly command?: { readonly name?: string } }): boolean {
  return error.command?.name === 'select'
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const last = 'lastNodeError' in error && error.lastNodeError instanceof Error ? error.lastNodeError : error
  return last.message || ('code' in last ? String(last.code) : last.name)
}
