import type { Database } from 'lmdb'
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
import { type FileEnvironment, type Key, LAST, NOTHING, quietly } from './file-environment.js'

/** `created`, `expires`, `due` (no number: never) and `fence`, as doubles, before the value. */
const HEADER_BYTES = 32
/** Schema 1 had the first two alone. */
const FIRST_HEADER_BYTES = 16

/** Maximum attempts of a removal that conflicts with other writers. */
const MAX_TRIES = 8

/** Records and their indexes, which always change together. */
export class FileRecords {
  readonly #environment: FileEnvironment
  /** Values by [namespace, owner, key], with versions. */
  readonly #records: Database<Buffer, string[]>
  /** [namespace, owner, created, key]. */
  readonly #order: Database<Buffer, Key>
  /** [expires, namespace, owner, key]. */
  readonly #expiry: Database<Buffer, Key>
  /** [namespace, due, owner, key]. */
  readonly #due: Database<Buffer, Key>

  constructor(environment: FileEnvironment) {
    this.#environment = environment
    this.#records = environment.bytes('records', true)
    this.#order = environment.bytes('order')
    this.#expiry = environment.bytes('expiry')
    this.#due = environment.bytes('due')
  }

  async create(draft: Draft): Promise<StoredRecord | undefined> {
    checkDraft(draft)
    const id = idOf(draft)
    this.#environment.renew()
    const old = this.entry(id)
    if (old !== undefined && old.expires > this.#environment.now()) return undefined
    if (old !== undefined) await this.remove(old)
    const record: StoredRecord = { ...draft, version: firstVersion(), fence: 0 }
    const done = await this.#environment.write(() => this.#records.ifNoExists(id, () => this.put(record)))
    return done ? record : undefined
  }

  async get(place: Place): Promise<StoredRecord | undefined> {
    return isPlace(place) ? this.find(idOf(place)) : undefined
  }

  async replace(current: StoredRecord, change: Change): Promise<StoredRecord | undefined> {
    checkValue(change.value)
    if (current.expires <= this.#environment.now()) return undefined
    const { due: _, ...rest } = current
    const next: StoredRecord = {
      ...rest,
      ...dueAfter(current, change),
      value: change.value,
      expires: change.expires ?? current.expires,
      version: current.version + 1,
    }
    const done = await this.#environment.write(() =>
      this.#records.ifVersion(idOf(current), current.version, () => this.change(current, next)),
    )
    return done ? next : undefined
  }

  async delete(current: Place & { readonly version?: number }): Promise<boolean> {
    if (!isPlace(current)) return false
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const known = this.find(idOf(current))
      if (known === undefined || (current.version ?? known.version) !== known.version) return false
      if (await this.remove(known)) return true
    }
    return false
  }

  async list(namespace: string, owner: string, { order, after, limit }: Range): Promise<readonly StoredRecord[]> {
    if (!isShelf(namespace, owner)) return []
    const first = [namespace, owner]
    const last = [namespace, owner, LAST]
    const from = after === undefined ? undefined : [namespace, owner, after.created, after.key]
    return order === 'ascending'
      ? this.pick({ start: from ?? first, end: last }, from, limit)
      : this.pick({ start: from ?? last, end: first, reverse: true }, from, limit)
  }

  async scan(namespace: string, { after, limit }: ScanRange): Promise<readonly StoredRecord[]> {
    if (!isNamespace(namespace)) return []
    const from = after === undefined ? undefined : [namespace, after.owner, after.created, after.key]
    return this.pick({ start: from ?? [namespace], end: [namespace, LAST] }, from, limit)
  }

  claim(namespace: string, { now, until, limit }: Claim): Promise<readonly StoredRecord[]> {
    return this.#environment.transaction(() => {
      const claimed: StoredRecord[] = []
      for (const key of [...this.#due.getKeys({ start: [namespace], end: [namespace, now, LAST], limit })]) {
        const [, due, owner, name] = key as [string, number, string, string]
        const record = this.entry([namespace, owner, name])
        if (record === undefined || record.due !== due || record.expires <= now) {
          quietly(this.#due.remove(key))
          continue
        }
        const next = { ...record, due: until, version: record.version + 1, fence: record.fence + 1 }
        this.change(record, next)
        claimed.push(next)
      }
      return claimed
    })
  }

  async nextDue(namespace: string): Promise<number | undefined> {
    this.#environment.renew()
    const range = { start: [namespace], end: [namespace, LAST], limit: 1 }
    const [first] = this.#environment.read(() => [...this.#due.getKeys(range)])
    return first?.[1] as number | undefined
  }

  async sweep(now: number, limit: number): Promise<number> {
    this.#environment.renew()
    const due = this.#environment.read(() => [...this.#expiry.getKeys({ end: [now, LAST], limit })])
    const removals = due.map(async key => {
      const [, namespace, owner, name] = key as [number, string, string, string]
      const record = this.entry([namespace, owner, name])
      if (record !== undefined && record.expires <= now) return this.remove(record)
      // Left behind by a record that has another expiry now.
      await this.#environment.write(() => this.#expiry.remove(key))
      return false
    })
    return (await Promise.all(removals)).filter(Boolean).length
  }

  /** Rewrites records of schema 1. Inside a transaction only. */
  migrateFirst(): void {
    for (const id of this.#records.getKeys({ snapshot: false })) {
      const entry = this.#records.getEntry(id)
      if (entry === undefined) continue
      const { value, version = 1 } = entry
      const bytes = Buffer.alloc(HEADER_BYTES + value.length - FIRST_HEADER_BYTES)
      value.copy(bytes, 0, 0, FIRST_HEADER_BYTES)
      bytes.writeDoubleLE(Number.NaN, 16)
      value.copy(bytes, HEADER_BYTES, FIRST_HEADER_BYTES)
      this.#records.putSync(id, bytes, version)
    }
  }

  private pick(range: { start: Key; end: Key; reverse?: true }, from: Key | undefined, limit: number): StoredRecord[] {
    this.#environment.renew()
    const now = this.#environment.now()
    const found: StoredRecord[] = []
    for (const key of this.#environment.read(() => this.#order.getKeys(range))) {
      const [namespace, owner, created, name] = key as [string, string, number, string]
      if (created === from?.[2] && name === from[3] && owner === from[1]) continue
      const record = this.entry([namespace, owner, name])
      if (record === undefined || record.created !== created || record.expires <= now) continue
      found.push(record)
      if (found.length >= limit) break
    }
    return found
  }

  private find(id: string[]): StoredRecord | undefined {
    this.#environment.renew()
    const record = this.entry(id)
    return record === undefined || record.expires <= this.#environment.now() ? undefined : record
  }

  private entry(id: string[]): StoredRecord | undefined {
    const entry = this.#environment.read(() => this.#records.getEntry(id))
    if (entry === undefined) return undefined
    const { value, version = 0 } = entry
    const [namespace = '', owner = '', key = ''] = id
    const due = value.readDoubleLE(16)
    return {
      namespace,
      owner,
      key,
      created: value.readDoubleLE(0),
      expires: value.readDoubleLE(8),
      ...(Number.isNaN(due) ? {} : { due }),
      version,
      fence: value.readDoubleLE(24),
      value: value.subarray(HEADER_BYTES),
    }
  }

  /** Inside a condition or a transaction only. */
  private change(current: StoredRecord, next: StoredRecord): void {
    if (next.expires !== current.expires) quietly(this.#expiry.remove(expiryOf(current)))
    if (current.due !== undefined && next.due !== current.due) quietly(this.#due.remove(dueOf(current, current.due)))
    this.put(next)
  }

  private put(record: StoredRecord): void {
    const bytes = Buffer.allocUnsafe(HEADER_BYTES + record.value.length)
    bytes.writeDoubleLE(record.created, 0)
    bytes.writeDoubleLE(record.expires, 8)
    bytes.writeDoubleLE(record.due ?? Number.NaN, 16)
    bytes.writeDoubleLE(record.fence, 24)
    bytes.set(record.value, HEADER_BYTES)
    quietly(this.#records.put(idOf(record), bytes, record.version))
    quietly(this.#order.put(orderOf(record), NOTHING))
    quietly(this.#expiry.put(expiryOf(record), NOTHING))
    if (record.due !== undefined) quietly(this.#due.put(dueOf(record, record.due), NOTHING))
  }

  /** False where the record has changed since. */
  private remove(record: StoredRecord): Promise<boolean> {
    return this.#environment.write(() =>
      this.#records.ifVersion(idOf(record), record.version, () => {
        quietly(this.#records.remove(idOf(record)))
        quietly(this.#order.remove(orderOf(record)))
        quietly(this.#expiry.remove(expiryOf(record)))
        if (record.due !== undefined) quietly(this.#due.remove(dueOf(record, record.due)))
      }),
    )
  }
}

function idOf({ namespace, owner, key }: Place): string[] {
  return [namespace, owner, key]
}

function orderOf({ namespace, owner, created, key }: Draft): Key {
  return [namespace, owner, created, key]
}

function expiryOf({ expires, namespace, owner, key }: Draft): Key {
  return [expires, namespace, owner, key]
}

function dueOf({ namespace, owner, key }: Place, due: number): Key {
  return [namespace, due, owner, key]
}
