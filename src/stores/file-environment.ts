import { realpathSync } from 'node:fs'
import { type Database, open, type RootDatabase } from 'lmdb'
import { StoreError } from '../core/store.js'
import { hasStore, prepareFolder, storeErrorOf } from './data-folder.js'
import { Holder } from './file-holders.js'
import { openAlone, WriteTurns } from './file-openings.js'
import { withTimeout } from './with-timeout.js'

/** How long a write may wait for other processes and for the disk, milliseconds. */
const WRITE_TIMEOUT_MS = 10_000

/** Maximum databases of one file. */
const MAX_DATABASES = 24

/** Parts of ordered keys: numbers sort before texts. */
export type Key = (string | number)[]

/** Sorts after every number and every text of a key: texts are visible ASCII. */
export const LAST = '\x7f'

export const NOTHING = Buffer.alloc(0)

/** Called for a file of an earlier version of this program; all changes are one transaction. */
export interface Schema {
  readonly version: number
  migrate(environment: FileEnvironment, from: number): void
}

interface OpenFile {
  readonly root: RootDatabase
  users: number
}

/**
 * Files that this process has open, by folder. The library writes in a thread that asks this one what to write: were a
 * file opened twice, this thread could wait for a lock that is let go only when it answers.
 */
const OPEN = new Map<string, OpenFile>()

/**
 * How often this process has the file of a folder open, also while it closes it. To look into the lock file by oneself
 * then would let go the lock on it, as POSIX has it: the next process would take itself for the first, and begin anew.
 */
const unclosed = new Map<string, number>()

function acquire(folder: string): RootDatabase {
  const known = OPEN.get(folder)
  if (known !== undefined) {
    known.users++
    return known.root
  }
  // Turn batching would leave rejections of a failed commit that cannot be caught. Commits that overlap the flush of
  // the previous one sometimes lose a write, and pages with it, if several processes share a file.
  const options = {
    path: folder,
    maxDbs: MAX_DATABASES,
    cache: false,
    eventTurnBatching: false,
    overlappingSync: false,
  }
  const root = openAlone(folder, () => open(options))
  unclosed.set(folder, (unclosed.get(folder) ?? 0) + 1)
  OPEN.set(folder, { root, users: 1 })
  return root
}

async function release(folder: string): Promise<void> {
  const known = OPEN.get(folder)
  if (known === undefined || --known.users > 0) return
  OPEN.delete(folder)
  try {
    await known.root.close()
  } finally {
    const left = (unclosed.get(folder) ?? 1) - 1
    if (left > 0) unclosed.set(folder, left)
    else unclosed.delete(folder)
  }
}

/** The folder, however it is written, if this process has its store open; undefined where it has not. */
function openPlace(folder: string): string | undefined {
  try {
    const place = realpathSync(folder)
    return unclosed.has(place) ? place : undefined
  } catch {
    return undefined
  }
}

/** The open file: how it is read and written, and what its errors mean. */
export class FileEnvironment {
  readonly folder: string
  readonly now: () => number
  /** The folder, however it is written. */
  readonly #place: string
  readonly #root: RootDatabase
  readonly #holder: Holder
  readonly #turns: WriteTurns
  #closed = false

  /** Throws {@link StoreError} where the folder cannot be used, holds something else, or is of a later version. */
  constructor(folder: string, schema: Schema, now: () => number) {
    this.folder = folder
    this.now = now
    const place = openPlace(folder)
    if (place === undefined) prepareFolder(folder)
    this.#place = place ?? realpathSync(folder)
    try {
      this.#holder = new Holder(folder, schema.version)
    } catch (error) {
      throw storeErrorOf(error, folder)
    }
    this.#turns = new WriteTurns(this.#place, this.#holder)
    try {
      this.#root = acquire(this.#place)
    } catch (error) {
      this.#holder.release()
      throw storeErrorOf(error, folder)
    }
    try {
      this.upgrade(schema)
    } catch (error) {
      void release(this.#place)
      this.#holder.release()
      throw storeErrorOf(error, folder)
    }
  }

  /** Bytes by key; with versions if `ifVersion` is needed. */
  bytes<K extends Key>(name: string, useVersions = false): Database<Buffer, K> {
    return this.begin(() => this.#root.openDB({ name, encoding: 'binary', useVersions }))
  }

  json<V, K extends Key | string>(name: string): Database<V, K> {
    return this.begin(() => this.#root.openDB({ name, encoding: 'json' }))
  }

  /** The library keeps a snapshot for a millisecond, in which another process may have committed. */
  renew(): void {
    this.checkOpen()
    this.#root.resetReadTxn()
  }

  read<T>(begin: () => T): T {
    this.checkOpen()
    try {
      return begin()
    } catch (error) {
      throw storeErrorOf(error, this.folder)
    }
  }

  /** An exclusive transaction. An error of `act` rolls nothing back: it must read first, and then write. */
  transaction<T>(act: () => T): Promise<T> {
    return this.write(async () => {
      const outcome = await this.#root.transaction((): { readonly value: T } | { readonly error: unknown } => {
        try {
          return { value: act() }
        } catch (error) {
          return { error }
        }
      })
      if ('error' in outcome) throw outcome.error
      return outcome.value
    })
  }

  /** Fulfilled when what was begun is on the disk. */
  async write<T>(begin: () => Promise<T>): Promise<T> {
    const late = (): Error => new StoreError('unavailable', `the store in ${this.folder} did not write in time`)
    return await withTimeout(this.commit(begin), WRITE_TIMEOUT_MS, late)
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    await this.#turns.begun()
    await this.#root.flushed
    try {
      await release(this.#place)
    } finally {
      this.#turns.end()
      this.#holder.release()
    }
  }

  /** The library ends the process where it is used after its end. */
  checkOpen(): void {
    if (this.#closed) throw new StoreError('unavailable', 'the store is closed')
  }

  private upgrade({ version, migrate }: Schema): void {
    const meta = this.json<number, string>('meta')
    const toVersion = (): void => {
      const written = meta.get('schema')
      if (written === version) return
      if (written !== undefined && written > version) {
        throw new StoreError(
          'newer',
          `the store in ${this.folder} was written by a newer version (schema ${written}; this one supports ${version})`,
        )
      }
      if (written !== undefined) migrate(this, written)
      meta.putSync('schema', version)
    }
    this.begin(() => this.#root.transactionSync(toVersion))
  }

  /** Writes what a new file lacks. Where this process has the file open already, there is nothing left to write. */
  private begin<T>(write: () => T): T {
    return (OPEN.get(this.#place)?.users ?? 0) > 1 ? write() : this.#turns.writeSync(write)
  }

  private async commit<T>(begin: () => Promise<T>): Promise<T> {
    this.checkOpen()
    try {
      const turn = this.#turns.enter()
      if (turn !== undefined) await turn
      try {
        const done = await begin()
        await this.#root.flushed
        return done
      } finally {
        this.#turns.leave()
      }
    } catch (error) {
      throw error instanceof StoreError ? error : await this.faultOf(error)
    }
  }

  /** The cause of a failed commit is in a promise of its own. A full disk appears as a short write: EIO. */
  private async faultOf(error: unknown): Promise<StoreError> {
    const cause = await causeOf(error)
    const code = cause instanceof Error && 'code' in cause ? cause.code : undefined
    const full = code === EIO || code === ENOSPC || code === EFBIG
    return full
      ? new StoreError('full', `nothing can be written to the store in ${this.folder}; is the disk full?`, cause)
      : new StoreError('unavailable', `the store in ${this.folder} failed`, cause)
  }
}

/** The schema version of a folder's store; undefined if it has none. Changes nothing. Throws {@link StoreError}. */
export async function writtenSchema(folder: string): Promise<number | undefined> {
  const place = openPlace(folder)
  if (place === undefined && !hasStore(folder)) return undefined
  try {
    const known = place === undefined ? undefined : OPEN.get(place)
    if (known !== undefined) return schemaIn(known.root)
    const root = openAlone(folder, () => open({ path: folder, maxDbs: MAX_DATABASES, cache: false, readOnly: true }))
    try {
      return schemaIn(root)
    } finally {
      await root.close()
    }
  } catch (error) {
    throw storeErrorOf(error, folder)
  }
}

function schemaIn(root: RootDatabase): number | undefined {
  return root.openDB<number, string>({ name: 'meta', encoding: 'json' }).get('schema')
}

const EIO = 5
const EFBIG = 27
const ENOSPC = 28

async function causeOf(error: unknown): Promise<unknown> {
  if (!(error instanceof Error) || !('commitError' in error)) return error
  try {
    return (await error.commitError) ?? error
  } catch (cause) {
    return cause
  }
}

/** A write inside a condition or a transaction settles with the whole, so its own promise is not awaited. */
export function quietly(write: Promise<boolean>): void {
  write.then(undefined, () => undefined)
}
