import { StoreError } from '../core/store.js'
import type { RedisSettings, SchemaFacts, StoreEvents } from '../core/store-config.js'
import { DriverStore } from './driver-store.js'
import { RedisAccounts } from './redis-accounts.js'
import { numberOf, textOf } from './redis-answers.js'
import { RedisBlobs } from './redis-blobs.js'
import { RedisConnection } from './redis-connection.js'
import { RedisKeys } from './redis-keys.js'
import { RedisRecords } from './redis-records.js'

/** The schema version in the server. A higher number was written by a later version of this program. */
const SCHEMA = 1

/**
 * Keeps everything in a server, a group of servers with sentinels, or a cluster, which any number of gateways share. A
 * write is as durable as the server makes it. What has a ceiling or a version is decided by scripts, on the server,
 * and accounts and blobs are let go by it as they expire.
 */
export class RedisStore extends DriverStore {
  override readonly accounts: RedisAccounts
  override readonly blobs: RedisBlobs
  readonly #connection: RedisConnection

  private constructor(connection: RedisConnection, keys: RedisKeys, now: () => number) {
    super(new RedisRecords(connection, keys, now))
    this.#connection = connection
    this.accounts = new RedisAccounts(connection, keys)
    this.blobs = new RedisBlobs(connection, keys, now)
  }

  /** The schema version of the store and of this program; changes nothing. Throws {@link StoreError}. */
  static async inspect(settings: RedisSettings, events: StoreEvents): Promise<SchemaFacts> {
    const connection = await RedisConnection.open(settings, events)
    try {
      await adviseOnEviction(connection, events)
      const written = await connection.send('get', new RedisKeys(settings.prefix).schema())
      return { written: written === null ? undefined : numberOf(written), known: SCHEMA }
    } finally {
      await connection.close()
    }
  }

  /** Throws {@link StoreError} where the server cannot be used, or a later version of this program uses it. */
  static async open(settings: RedisSettings, events: StoreEvents, now: () => number = Date.now): Promise<RedisStore> {
    const connection = await RedisConnection.open(settings, events)
    const keys = new RedisKeys(settings.prefix)
    try {
      await checkSchema(connection, keys)
      await adviseOnEviction(connection, events)
    } catch (error) {
      await connection.close()
      throw error
    }
    return new RedisStore(connection, keys, now)
  }

  override close(): Promise<void> {
    return this.#connection.close()
  }
}

/** Reads first: a server whose memory is full accepts no write, and a replica none at all. */
async function checkSchema(connection: RedisConnection, keys: RedisKeys): Promise<void> {
  const read = (): Promise<unknown> => connection.send('get', keys.schema())
  const found = await read()
  if (found === null) await connection.send('set', keys.schema(), SCHEMA, 'NX')
  const written = numberOf(found ?? (await read()))
  if (written === SCHEMA) return
  if (written !== undefined && written > SCHEMA) {
    const message = `the store was written by a newer version (schema ${written}; this one supports ${SCHEMA})`
    throw new StoreError('newer', message)
  }
  throw new StoreError('corrupt', `the value at ${keys.schema()} is not the schema of a store; choose another prefix`)
}

/** A server that evicts keys when its memory is full loses tasks and budgets. Managed servers may hide the setting. */
async function adviseOnEviction(connection: RedisConnection, events: StoreEvents): Promise<void> {
  const info = textOf(await connection.send('info', 'memory').catch(() => undefined)) ?? ''
  const policy = /^maxmemory_policy:(\S+)/m.exec(info)?.[1]
  if (policy === undefined || policy === 'noeviction') return
  events.warn(
    `the store's server drops keys when its memory is full (maxmemory-policy ${policy}): set it to noeviction`,
  )
}
