import { randomInt } from 'node:crypto'
import type { Accounts } from './accounts.js'
import type { Place } from './store-place.js'

export * from './store-place.js'

/**
 * What must outlive a request: records in namespaces, each of one owner; accounts with their ledger and blobs beside them. A
 * driver (`src/stores/`) keeps them in memory, in a file, or on another machine; all of them pass one contract
 * (`test/contracts/store.ts`).
 *
 * A record is found by namespace, owner and key together, so a foreign key and an unknown one are the same to anyone who
 * asks: there is no way to read a record without naming its owner, but for those that serve the whole gateway
 * (`claim`, `scan`). Each change counts its version up by one, and every change but the first names the record that it
 * changes, so that of two writers one loses and knows it.
 *
 * Reads are of what is committed. A write is as durable as the driver when its promise is fulfilled. Every failure of a
 * driver is a {@link StoreError}; a driver never throws anything else. An error of kind `unavailable`
 * leaves it open whether a write happened: anyone who has to know reads again.
 */
export interface Store {
  /** Keeps a new record. Undefined where the owner has one of that key already. */
  create(draft: Draft): Promise<StoredRecord | undefined>
  /** Undefined where there is none, or it has expired. */
  get(namespace: string, owner: string, key: string): Promise<StoredRecord | undefined>
  /** Compare and set: undefined where the record is not in the version of `current` any more. */
  replace(current: StoredRecord, next: Change): Promise<StoredRecord | undefined>
  /** False where there is no such record, or it is not in the version of `current` any more. */
  delete(current: Place & { readonly version?: number }): Promise<boolean>
  /** The owner's records of a namespace in the order in which they were created, ties by key. */
  list(namespace: string, owner: string, range: Range): Promise<readonly StoredRecord[]>
  /**
   * Records of all owners that are due, the earliest first, each of them for one claimer alone: it is due again at
   * `until`, and its fence and version count up. Who holds a record renews its lease, or gives it back, by `replace` with
   * a `due` of its own; where another one has claimed it meanwhile, that does nothing.
   */
  claim(namespace: string, claim: Claim): Promise<readonly StoredRecord[]>
  /** When the next record of a namespace is due, milliseconds since the epoch; leases count as well. */
  nextDue(namespace: string): Promise<number | undefined>
  /** Records of all owners. Those of one owner are adjacent, in the order of `list`; that of owners is the driver's. */
  scan(namespace: string, range: ScanRange): Promise<readonly StoredRecord[]>
  readonly accounts: Accounts
  readonly blobs: Blobs
  /**
   * Removes at most `limit` records, and as many blobs, accounts, leases and numbers of writers, that expired before `now`;
   * resolves with their number.
   */
  sweep(now: number, limit: number): Promise<number>
  close(): Promise<void>
}

export interface Draft extends Place {
  /** Milliseconds since the epoch; decides the order of lists and never changes. */
  readonly created: number
  /** Milliseconds since the epoch. */
  readonly expires: number
  /** When the record is due (again), milliseconds since the epoch; absent: never. */
  readonly due?: number
  readonly value: Uint8Array
}

export interface StoredRecord extends Draft {
  /** A new record begins with a version that no former record of its place had; each change counts it up by one. */
  readonly version: number
  /** How often it was claimed: who acts for it elsewhere gives this along, and a smaller one is out of date. */
  readonly fence: number
}

export interface Change {
  readonly value: Uint8Array
  /** Absent: as before. */
  readonly expires?: number
  /** Absent: as before; null: it is no longer due. */
  readonly due?: number | null
}

export interface Claim {
  /** What was due by then, milliseconds since the epoch. */
  readonly now: number
  /** When the records are due again; until then no other process gets them. */
  readonly until: number
  readonly limit: number
}

export interface ScanRange {
  /** The record at which the page before ended; it need not be there: any moment and key of an owner will do. */
  readonly after?: Pick<Draft, 'owner' | 'created' | 'key'>
  readonly limit: number
}

export interface Range {
  readonly order: 'ascending' | 'descending'
  /** The record at which the page before ended; it is not in this one, and need not be there any more. */
  readonly after?: { readonly created: number; readonly key: string }
  /** At most this many, over 0. */
  readonly limit: number
}

/**
 * The version of a new record, 1 to 2^48 − 2: anyone who still holds a deleted record does not change or delete the one that
 * took its place.
 */
export function firstVersion(): number {
  return randomInt(1, 2 ** 48 - 1)
}

/** The moment of a record after a change, as `due` of a new record takes it. */
export function dueAfter(current: Pick<Draft, 'due'>, change: Pick<Change, 'due'>): { readonly due?: number } {
  const due = change.due === undefined ? current.due : change.due
  return due === undefined || due === null ? {} : { due }
}

/**
 * Bytes by reference, of any size, written and read in pieces and never whole in memory. A blob is there when all of it
 * is, and a later one of the same place takes its place at once; who reads the former one reads it to its end or gets an
 * error, and never a mixture.
 */
export interface Blobs {
  /**
   * Resolves with the size. Over `limit` it throws {@link StoreError} `full`; where the source fails, its own error goes
   * through. Nothing stays of either.
   */
  put(place: Place, pieces: AsyncIterable<Uint8Array>, keep: Keep): Promise<number>
  /** Undefined where there is none, or it has expired. Pieces are at most {@link MAX_PIECE_BYTES} bytes long. */
  get(place: Place, range?: ByteRange): Promise<StoredBlob | undefined>
  /** False where there is none. */
  delete(place: Place): Promise<boolean>
}

export interface Keep {
  /** Milliseconds since the epoch. */
  readonly expires: number
  /** Bytes. */
  readonly limit: number
}

/** Bytes from `start` up to and without `end`; absent: from the first, to the last. Both are cut to what is there. */
export interface ByteRange {
  readonly start?: number
  readonly end?: number
}

export interface StoredBlob {
  /** Of all of it, for every requested range. */
  readonly size: number
  readonly expires: number
  readonly pieces: AsyncIterable<Uint8Array>
}

/** Largest piece that is kept or read at once, bytes. */
export const MAX_PIECE_BYTES = 256 * 1024
