import {
  type Change,
  type Claim,
  checkDraft,
  checkValue,
  type Draft,
  dueAfter,
  firstVersion,
  isPlace,
  NEVER_EXPIRES_MS,
  type Place,
  type Range,
  type ScanRange,
  type Store,
  type StoredRecord,
  StoreError,
} from '../core/store.js'
import { ACCOUNT_BOUNDS, type AccountBounds, MemoryAccounts } from './memory-accounts.js'
import { MemoryBlobs } from './memory-blobs.js'
import { type Position, SortedIndex } from './sorted-index.js'

/**
 * The limits of the memory store. The least recently used records are evicted first, but not records with a due time, and
 * those that never expire, such as keys: if these alone exceed the limit, new ones are refused.
 */
interface MemoryBounds extends AccountBounds {
  readonly records: number
  /** Of keys and values, as they are; the process needs somewhat more. */
  readonly bytes: number
  /** Of blobs. */
  readonly blobs: number
}

const MEMORY_BOUNDS: MemoryBounds = {
  records: 100_000,
  bytes: 128 * 1024 * 1024,
  blobs: 256 * 1024 * 1024,
  ...ACCOUNT_BOUNDS,
}

/** Memory of a record besides its value: its key, twice, and the objects around it. */
const RECORD_OVERHEAD_BYTES = 512

/** Keeps records in this process, and forgets them with it. */
export class MemoryStore implements Store {
  readonly accounts: MemoryAccounts
  readonly blobs: MemoryBlobs
  readonly #bounds: MemoryBounds
  readonly #now: () => number
  /** In the order of use: the first one is evicted first. */
  readonly #idle = new Map<string, StoredRecord>()
  /** Records that are not evicted. */
  readonly #lasting = new Map<string, StoredRecord>()
  /** An owner's records of a namespace, in order. */
  readonly #byOwner = new Map<string, SortedIndex>()
  /** Addresses by the time at which they are due, of each namespace. */
  readonly #byDue = new Map<string, SortedIndex>()
  #bytes = 0
  #lastingBytes = 0
  #closed = false

  constructor(bounds: Partial<MemoryBounds> = {}, now: () => number = Date.now) {
    this.#bounds = { ...MEMORY_BOUNDS, ...bounds }
    this.#now = now
    const check = (): void => this.checkOpen()
    this.accounts = new MemoryAccounts(check, this.#bounds)
    this.blobs = new MemoryBlobs(this.#bounds.blobs, now, check)
  }

  get size(): { readonly records: number; readonly bytes: number } {
    return { records: this.#idle.size + this.#lasting.size, bytes: this.#bytes }
  }

  async create(draft: Draft): Promise<StoredRecord | undefined> {
    this.checkOpen()
    checkDraft(draft)
    if (this.find(draft) !== undefined) return undefined
    this.remove(addressOf(draft))
    const record = {
      ...pick(draft),
      ...dueAfter(draft, {}),
      value: Buffer.from(draft.value),
      version: firstVersion(),
      fence: 0,
    }
    this.checkRoom(record, 0)
    this.put(record)
    return record
  }

  async get(namespace: string, owner: string, key: string): Promise<StoredRecord | undefined> {
    this.checkOpen()
    const record = this.find({ namespace, owner, key })
    if (record !== undefined) this.touch(record)
    return record
  }

  async replace(current: StoredRecord, change: Change): Promise<StoredRecord | undefined> {
    this.checkOpen()
    checkValue(change.value)
    const known = this.find(current)
    if (known?.version !== current.version) return undefined
    const record = {
      ...pick(known),
      ...dueAfter(known, change),
      value: Buffer.from(change.value),
      expires: change.expires ?? known.expires,
      version: known.version + 1,
      fence: known.fence,
    }
    // A key can be revoked, which announces it in such a record, although the store is full.
    if (known.expires < NEVER_EXPIRES_MS) this.checkRoom(record, isLasting(known) ? costOf(known) : 0)
    this.remove(addressOf(known))
    this.put(record)
    return record
  }

  async delete(current: Place & { readonly version?: number }): Promise<boolean> {
    this.checkOpen()
    const known = this.find(current)
    if (known === undefined || (current.version ?? known.version) !== known.version) return false
    this.remove(addressOf(known))
    return true
  }

  async list(namespace: string, owner: string, range: Range): Promise<readonly StoredRecord[]> {
    this.checkOpen()
    const shelf = ownerAddress({ namespace, owner })
    return this.pick(shelf, this.#byOwner.get(shelf)?.walk(range) ?? [], range.limit)
  }

  async claim(namespace: string, { now, until, limit }: Claim): Promise<readonly StoredRecord[]> {
    this.checkOpen()
    const due: StoredRecord[] = []
    for (const { created, key } of this.#byDue.get(namespace)?.walk({ order: 'ascending' }) ?? []) {
      const record = this.#lasting.get(key)
      if (created > now || due.length >= limit) break
      if (record !== undefined) due.push(record)
    }
    for (const record of due) this.remove(addressOf(record))
    const claimed = due
      .filter(({ expires }) => expires > now)
      .map(record => ({ ...record, due: until, version: record.version + 1, fence: record.fence + 1 }))
    for (const record of claimed) this.put(record)
    return claimed
  }

  async nextDue(namespace: string): Promise<number | undefined> {
    this.checkOpen()
    const [first] = this.#byDue.get(namespace)?.walk({ order: 'ascending' }) ?? []
    return first?.created
  }

  async scan(namespace: string, { after, limit }: ScanRange): Promise<readonly StoredRecord[]> {
    this.checkOpen()
    const from = after === undefined ? undefined : ownerAddress({ namespace, owner: after.owner })
    const shelves = [...this.#byOwner.keys()].filter(shelf => shelf.startsWith(`${namespace} `)).sort()
    const found: StoredRecord[] = []
    for (const shelf of shelves) {
      if (found.length >= limit || (from !== undefined && shelf < from)) continue
      const range = { order: 'ascending', ...(after && shelf === from && { after }) } as const
      found.push(...this.pick(shelf, this.#byOwner.get(shelf)?.walk(range) ?? [], limit - found.length))
    }
    return found
  }

  async sweep(now: number, limit: number): Promise<number> {
    this.checkOpen()
    let taken = 0
    for (const records of [this.#idle, this.#lasting]) {
      for (const [address, { expires }] of records) {
        if (taken >= limit) break
        if (expires > now) continue
        this.remove(address)
        taken++
      }
    }
    return taken + this.blobs.sweep(now, limit) + this.accounts.sweep(now, limit)
  }

  async close(): Promise<void> {
    this.#closed = true
    for (const records of [this.#idle, this.#lasting, this.#byOwner, this.#byDue]) records.clear()
    this.#bytes = 0
    this.#lastingBytes = 0
    this.accounts.clear()
    this.blobs.clear()
  }

  private checkOpen(): void {
    if (this.#closed) throw new StoreError('unavailable', 'the store is closed')
  }

  /** Lasting records must fit. */
  private checkRoom(record: StoredRecord, freed: number): void {
    if (!isLasting(record)) return
    const records = this.#lasting.size + (freed === 0 ? 1 : 0)
    const bytes = this.#lastingBytes + costOf(record) - freed
    if (records <= this.#bounds.records && bytes <= this.#bounds.bytes) return
    throw new StoreError('full', 'the memory store is full')
  }

  private at(address: string): StoredRecord | undefined {
    return this.#idle.get(address) ?? this.#lasting.get(address)
  }

  private find(place: Place): StoredRecord | undefined {
    const record = isPlace(place) ? this.at(addressOf(place)) : undefined
    return record === undefined || record.expires <= this.#now() ? undefined : record
  }

  private pick(shelf: string, positions: Iterable<Position>, limit: number): StoredRecord[] {
    const now = this.#now()
    const found: StoredRecord[] = []
    for (const { key } of positions) {
      if (found.length >= limit) break
      const record = this.at(`${shelf} ${key}`)
      if (record !== undefined && record.expires > now) found.push(record)
    }
    return found
  }

  private touch(record: StoredRecord): void {
    const address = addressOf(record)
    if (this.#idle.delete(address)) this.#idle.set(address, record)
  }

  private put(record: StoredRecord): void {
    const address = addressOf(record)
    this.#bytes += costOf(record)
    addToIndex(this.#byOwner, ownerAddress(record), record)
    if (isLasting(record)) {
      this.#lasting.set(address, record)
      this.#lastingBytes += costOf(record)
    } else this.#idle.set(address, record)
    if (record.due !== undefined) addToIndex(this.#byDue, record.namespace, { created: record.due, key: address })
    for (const [oldest] of this.#idle) {
      if (this.size.records <= this.#bounds.records && this.#bytes <= this.#bounds.bytes) return
      this.remove(oldest)
    }
  }

  private remove(address: string): void {
    const record = this.at(address)
    if (record === undefined) return
    this.#idle.delete(address)
    this.#bytes -= costOf(record)
    removeFromIndex(this.#byOwner, ownerAddress(record), record)
    if (this.#lasting.delete(address)) this.#lastingBytes -= costOf(record)
    if (record.due !== undefined) removeFromIndex(this.#byDue, record.namespace, { created: record.due, key: address })
  }
}

function isLasting({ due, expires }: StoredRecord): boolean {
  return due !== undefined || expires >= NEVER_EXPIRES_MS
}

function addToIndex(shelves: Map<string, SortedIndex>, name: string, position: Position): void {
  const shelf = shelves.get(name) ?? new SortedIndex()
  shelf.add(position)
  shelves.set(name, shelf)
}

function removeFromIndex(shelves: Map<string, SortedIndex>, name: string, position: Position): void {
  const shelf = shelves.get(name)
  shelf?.remove(position)
  if (shelf?.size === 0) shelves.delete(name)
}

function costOf(record: StoredRecord): number {
  return record.value.length + RECORD_OVERHEAD_BYTES
}

/** Parts of a place contain no spaces, so the address is unambiguous. */
function ownerAddress({ namespace, owner }: Pick<Place, 'namespace' | 'owner'>): string {
  return `${namespace} ${owner}`
}

function addressOf(place: Place): string {
  return `${ownerAddress(place)} ${place.key}`
}

function pick({ namespace, owner, key, created, expires }: Draft): Omit<Draft, 'value' | 'due'> {
  return { namespace, owner, key, created, expires }
}
