import {
  type Change,
  checkDraft,
  checkValue,
  type Draft,
  isPlace,
  type Place,
  type Range,
  type Store,
  type StoredRecord,
  StoreError,
} from '../core/store.js'
import { Shelf } from './shelf.js'

/** What the memory store holds at most; the records that nobody has used for longest make room. */
export interface MemoryBounds {
  readonly records: number
  /** Of keys and values, as they are; the process needs somewhat more. */
  readonly bytes: number
}

export const MEMORY_BOUNDS: MemoryBounds = { records: 100_000, bytes: 128 * 1024 * 1024 }

/** What a record costs beside its value: its key, twice, and the objects around it. */
const OVERHEAD = 512

/** Keeps records in this process, and forgets them with it. */
export class MemoryStore implements Store {
  readonly #bounds: MemoryBounds
  readonly #now: () => number
  /** In the order of use: the first one makes room first. */
  readonly #records = new Map<string, StoredRecord>()
  /** An owner's records of a namespace, in order. */
  readonly #shelves = new Map<string, Shelf>()
  #bytes = 0
  #closed = false

  constructor(bounds: MemoryBounds = MEMORY_BOUNDS, now: () => number = Date.now) {
    this.#bounds = bounds
    this.#now = now
  }

  get size(): { readonly records: number; readonly bytes: number } {
    return { records: this.#records.size, bytes: this.#bytes }
  }

  async create(draft: Draft): Promise<StoredRecord | undefined> {
    this.checkOpen()
    checkDraft(draft)
    if (this.find(draft) !== undefined) return undefined
    this.remove(addressOf(draft))
    const record = { ...pick(draft), value: Buffer.from(draft.value), version: 1 }
    this.put(record)
    return record
  }

  async get(namespace: string, owner: string, key: string): Promise<StoredRecord | undefined> {
    this.checkOpen()
    const record = this.find({ namespace, owner, key })
    if (record !== undefined) this.touch(record)
    return record
  }

  async replace(current: StoredRecord, { value, expires }: Change): Promise<StoredRecord | undefined> {
    this.checkOpen()
    checkValue(value)
    const known = this.find(current)
    if (known?.version !== current.version) return undefined
    const record = {
      ...pick(known),
      value: Buffer.from(value),
      expires: expires ?? known.expires,
      version: known.version + 1,
    }
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
    const now = this.#now()
    const shelf = shelfOf({ namespace, owner })
    const found: StoredRecord[] = []
    for (const { key } of this.#shelves.get(shelf)?.walk(range) ?? []) {
      if (found.length >= range.limit) break
      const record = this.#records.get(`${shelf} ${key}`)
      if (record !== undefined && record.expires > now) found.push(record)
    }
    return found
  }

  async sweep(now: number, limit: number): Promise<number> {
    this.checkOpen()
    let taken = 0
    for (const [address, { expires }] of this.#records) {
      if (taken >= limit) break
      if (expires > now) continue
      this.remove(address)
      taken++
    }
    return taken
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#records.clear()
    this.#shelves.clear()
    this.#bytes = 0
  }

  private checkOpen(): void {
    if (this.#closed) throw new StoreError('unavailable', 'the store is closed')
  }

  private find(place: Place): StoredRecord | undefined {
    const record = isPlace(place) ? this.#records.get(addressOf(place)) : undefined
    return record === undefined || record.expires <= this.#now() ? undefined : record
  }

  private touch(record: StoredRecord): void {
    const address = addressOf(record)
    this.#records.delete(address)
    this.#records.set(address, record)
  }

  private put(record: StoredRecord): void {
    const address = addressOf(record)
    const shelf = shelfOf(record)
    this.#records.set(address, record)
    this.#bytes += record.value.length + OVERHEAD
    const shelved = this.#shelves.get(shelf) ?? new Shelf()
    shelved.add(record)
    this.#shelves.set(shelf, shelved)
    for (const [oldest] of this.#records) {
      if (this.#records.size <= this.#bounds.records && this.#bytes <= this.#bounds.bytes) return
      this.remove(oldest)
    }
  }

  private remove(address: string): void {
    const record = this.#records.get(address)
    if (record === undefined) return
    this.#records.delete(address)
    this.#bytes -= record.value.length + OVERHEAD
    const shelf = shelfOf(record)
    const shelved = this.#shelves.get(shelf)
    shelved?.remove(record)
    if (shelved?.size === 0) this.#shelves.delete(shelf)
  }
}

/** Spaces stand in no part of a place. */
function shelfOf({ namespace, owner }: Pick<Place, 'namespace' | 'owner'>): string {
  return `${namespace} ${owner}`
}

function addressOf(place: Place): string {
  return `${shelfOf(place)} ${place.key}`
}

function pick({ namespace, owner, key, created, expires }: Draft): Omit<Draft, 'value'> {
  return { namespace, owner, key, created, expires }
}
