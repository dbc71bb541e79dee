import { type Database, open, type RootDatabase } from 'lmdb'
import {
  type Change,
  checkDraft,
  checkValue,
  type Draft,
  isPlace,
  isShelf,
  type Place,
  type Range,
  type Store,
  type StoredRecord,
  StoreError,
} from '../core/store.js'
import { prepareFolder, storeErrorOf } from './data-folder.js'

/** How records stand in the file. A file that says a higher number was written by a later version of this program. */
const SCHEMA = 1
/** How long a write may wait for other processes and for the disk, milliseconds. */
const PATIENCE = 10_000
/** `created` and `expires`, as doubles, before the value. */
const HEAD = 16

/** Behind every number and before no text, in the order of keys. */
const LAST = '~'

/** How often a removal is tried again where another writer came between. */
const TRIES = 8

/**
 * Keeps records in a folder of this machine, in a memory-mapped B+ tree that survives a crash at any point. Several
 * processes may have it open at once. A write's promise is fulfilled when the bytes are on the disk.
 */
export class FileStore implements Store {
  readonly #folder: string
  readonly #now: () => number
  readonly #root: RootDatabase
  /** Values by [namespace, owner, key], with versions. */
  readonly #records: Database<Buffer, string[]>
  /** [namespace, owner, created, key]. */
  readonly #order: Database<Buffer, (string | number)[]>
  /** [expires, namespace, owner, key]. */
  readonly #expiry: Database<Buffer, (string | number)[]>
  #closed = false

  /** Throws {@link StoreError} where the folder cannot be used, holds something else, or is of a later version. */
  constructor(folder: string, now: () => number = Date.now) {
    this.#folder = folder
    this.#now = now
    prepareFolder(folder)
    try {
      // Turn batching would leave rejections of a failed commit that nobody can catch.
      this.#root = open({ path: folder, maxDbs: 8, cache: false, eventTurnBatching: false })
      this.#records = this.#root.openDB({ name: 'records', encoding: 'binary', useVersions: true })
      this.#order = this.#root.openDB({ name: 'order', encoding: 'binary' })
      this.#expiry = this.#root.openDB({ name: 'expiry', encoding: 'binary' })
      checkSchema(this.#root.openDB({ name: 'meta', encoding: 'json' }), folder)
    } catch (error) {
      throw storeErrorOf(error, folder)
    }
  }

  async create(draft: Draft): Promise<StoredRecord | undefined> {
    checkDraft(draft)
    const id = idOf(draft)
    this.renew()
    const old = this.entry(id)
    if (old !== undefined && old.record.expires > this.#now()) return undefined
    if (old !== undefined) await this.remove(old.record)
    const record: StoredRecord = { ...draft, version: 1 }
    const done = await this.write(() => this.#records.ifNoExists(id, () => this.put(record)))
    return done ? record : undefined
  }

  async get(namespace: string, owner: string, key: string): Promise<StoredRecord | undefined> {
    const place = { namespace, owner, key }
    return isPlace(place) ? this.find(idOf(place)) : undefined
  }

  async replace(current: StoredRecord, { value, expires }: Change): Promise<StoredRecord | undefined> {
    checkValue(value)
    if (current.expires <= this.#now()) return undefined
    const next: StoredRecord = {
      ...current,
      value,
      expires: expires ?? current.expires,
      version: current.version + 1,
    }
    const done = await this.write(() =>
      this.#records.ifVersion(idOf(current), current.version, () => {
        if (next.expires !== current.expires) quietly(this.#expiry.remove(expiryOf(current)))
        this.put(next)
      }),
    )
    return done ? next : undefined
  }

  async delete(current: Place & { readonly version?: number }): Promise<boolean> {
    if (!isPlace(current)) return false
    for (let tries = 0; tries < TRIES; tries++) {
      const known = this.find(idOf(current))
      if (known === undefined || (current.version ?? known.version) !== known.version) return false
      if (await this.remove(known)) return true
    }
    return false
  }

  async list(namespace: string, owner: string, { order, after, limit }: Range): Promise<readonly StoredRecord[]> {
    if (!isShelf(namespace, owner)) return []
    this.renew()
    const found: StoredRecord[] = []
    const now = this.#now()
    const first = [namespace, owner]
    const last = [namespace, owner, LAST]
    const from = after === undefined ? undefined : [namespace, owner, after.created, after.key]
    const range =
      order === 'ascending'
        ? { start: from ?? first, end: last }
        : { start: from ?? last, end: first, reverse: true as const }
    for (const key of this.read(() => this.#order.getKeys(range))) {
      const [, , created, name] = key as [string, string, number, string]
      if (created === after?.created && name === after.key) continue
      const record = this.entry([namespace, owner, name])?.record
      if (record === undefined || record.created !== created || record.expires <= now) continue
      found.push(record)
      if (found.length >= limit) break
    }
    return found
  }

  async sweep(now: number, limit: number): Promise<number> {
    this.renew()
    const due = [...this.read(() => this.#expiry.getKeys({ end: [now, LAST], limit }))]
    const removals = due.map(async key => {
      const [, namespace, owner, name] = key as [number, string, string, string]
      const record = this.entry([namespace, owner, name])?.record
      if (record !== undefined && record.expires <= now) return this.remove(record)
      // Left behind by a record that has another expiry now.
      await this.write(() => this.#expiry.remove(key))
      return false
    })
    return (await Promise.all(removals)).filter(Boolean).length
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    await this.#root.flushed
    await this.#root.close()
  }

  private find(id: string[]): StoredRecord | undefined {
    this.renew()
    const record = this.entry(id)?.record
    return record === undefined || record.expires <= this.#now() ? undefined : record
  }

  private entry(id: string[]): { readonly record: StoredRecord } | undefined {
    const entry = this.read(() => this.#records.getEntry(id))
    if (entry === undefined) return undefined
    const { value, version = 0 } = entry
    const [namespace = '', owner = '', key = ''] = id
    const created = value.readDoubleLE(0)
    const expires = value.readDoubleLE(8)
    return { record: { namespace, owner, key, created, expires, version, value: value.subarray(HEAD) } }
  }

  /** Inside a condition only. */
  private put(record: StoredRecord): void {
    const bytes = Buffer.allocUnsafe(HEAD + record.value.length)
    bytes.writeDoubleLE(record.created, 0)
    bytes.writeDoubleLE(record.expires, 8)
    bytes.set(record.value, HEAD)
    quietly(this.#records.put(idOf(record), bytes, record.version))
    quietly(this.#order.put(orderOf(record), NOTHING))
    quietly(this.#expiry.put(expiryOf(record), NOTHING))
  }

  /** False where the record has changed since. */
  private remove(record: StoredRecord): Promise<boolean> {
    return this.write(() =>
      this.#records.ifVersion(idOf(record), record.version, () => {
        quietly(this.#records.remove(idOf(record)))
        quietly(this.#order.remove(orderOf(record)))
        quietly(this.#expiry.remove(expiryOf(record)))
      }),
    )
  }

  private async write(begin: () => Promise<boolean>): Promise<boolean> {
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<never>((_, reject) => {
      const error = new StoreError('unavailable', `the store in ${this.#folder} did not write in time`)
      timer = setTimeout(() => reject(error), PATIENCE)
    })
    try {
      return await Promise.race([this.commit(begin), late])
    } finally {
      clearTimeout(timer)
    }
  }

  private async commit(begin: () => Promise<boolean>): Promise<boolean> {
    this.checkOpen()
    try {
      const done = await begin()
      await this.#root.flushed
      return done
    } catch (error) {
      throw await this.faultOf(error)
    }
  }

  /** The library keeps a snapshot for a millisecond, in which another process may have committed. */
  private renew(): void {
    this.checkOpen()
    this.#root.resetReadTxn()
  }

  private read<T>(begin: () => T): T {
    this.checkOpen()
    try {
      return begin()
    } catch (error) {
      throw storeErrorOf(error, this.#folder)
    }
  }

  /** The library ends the process where it is used after its end. */
  private checkOpen(): void {
    if (this.#closed) throw new StoreError('unavailable', 'the store is closed')
  }

  /** A failed commit has its cause in a promise of its own. A disk without space shows as a short write: EIO. */
  private async faultOf(error: unknown): Promise<StoreError> {
    const cause = await causeOf(error)
    const code = cause instanceof Error && 'code' in cause ? cause.code : undefined
    const full = code === EIO || code === ENOSPC || code === EFBIG
    return full
      ? new StoreError('full', `nothing can be written to the store in ${this.#folder}; is the disk full?`, cause)
      : new StoreError('unavailable', `the store in ${this.#folder} failed`, cause)
  }
}

const EIO = 5
const EFBIG = 27
const ENOSPC = 28
const NOTHING = Buffer.alloc(0)

async function causeOf(error: unknown): Promise<unknown> {
  if (!(error instanceof Error) || !('commitError' in error)) return error
  try {
    return (await error.commitError) ?? error
  } catch (cause) {
    return cause
  }
}

/** The outcome of a write inside a condition is that of the condition; its own promise is nobody's. */
function quietly(write: Promise<boolean>): void {
  write.then(undefined, () => undefined)
}

function checkSchema(meta: Database<number, string>, folder: string): void {
  const written = meta.get('schema')
  if (written === undefined) {
    meta.putSync('schema', SCHEMA)
    return
  }
  if (written > SCHEMA) {
    throw new StoreError(
      'newer',
      `the store in ${folder} was written by a newer version (schema ${written}; this one knows ${SCHEMA})`,
    )
  }
}

function idOf({ namespace, owner, key }: Place): string[] {
  return [namespace, owner, key]
}

function orderOf({ namespace, owner, created, key }: Draft): (string | number)[] {
  return [namespace, owner, created, key]
}

function expiryOf({ expires, namespace, owner, key }: Draft): (string | number)[] {
  return [expires, namespace, owner, key]
}
