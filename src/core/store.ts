/**
 * What must outlive a request: records in namespaces, each of one owner. A driver (`src/stores/`) keeps them in memory,
 * in a file, or on another machine; all of them pass one contract (`test/contracts/store.ts`).
 *
 * A record is found by namespace, owner and key together, so a foreign key and an unknown one are the same to whoever
 * asks: there is no way to read a record without naming its owner. Each change counts its version up by one, and every
 * change but the first names the record that it changes, so that of two writers one loses and knows it.
 *
 * Reads are of what is committed. A write is durable as far as the driver is when its promise is fulfilled. Whatever
 * goes wrong in a driver is a {@link StoreError}; a driver never throws anything else.
 *
 * Tasks and budgets will ask more of a driver. These go beside the operations here and change none of them:
 * - leases: `claim(namespace, until, limit)`, due records over all owners, each with a fencing token that later
 *   `replace` calls have to carry;
 * - counters: `reserve` and `settle` on a key, atomic, with a ceiling;
 * - a ledger: `append(namespace, entry)`, never changed, read in order;
 * - blobs: bytes by reference, written and read in pieces, released with the record that names them.
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
  /** Takes out at most `limit` records that expired before `now`; tells how many it took. */
  sweep(now: number, limit: number): Promise<number>
  close(): Promise<void>
}

export interface Place {
  /** Lower-case letters and dashes, at most {@link LONGEST}`.namespace`. */
  readonly namespace: string
  /** The caller's name. */
  readonly owner: string
  /** Visible ASCII. */
  readonly key: string
}

export interface Draft extends Place {
  /** Milliseconds since the epoch; decides the order of lists and never changes. */
  readonly created: number
  /** Milliseconds since the epoch. */
  readonly expires: number
  readonly value: Uint8Array
}

export interface StoredRecord extends Draft {
  /** 1 for a new record. */
  readonly version: number
}

export interface Change {
  readonly value: Uint8Array
  /** Absent: as before. */
  readonly expires?: number
}

export interface Range {
  readonly order: 'ascending' | 'descending'
  /** The record at which the page before ended; it is not in this one, and need not be there any more. */
  readonly after?: { readonly created: number; readonly key: string }
  /** At most this many, over 0. */
  readonly limit: number
}

/** Characters. */
export const LONGEST = { namespace: 32, owner: 128, key: 256 } as const
/** Largest value of one record, bytes. */
export const LARGEST_VALUE = 32 * 1024 * 1024

/**
 * `refused`: the place cannot be used at all; `newer`: a later version of this program wrote what is there; `corrupt`:
 * what is there is no store; `full`: no space is left, or the record is too large; `unavailable`: anything else.
 */
export type StoreFault = 'refused' | 'newer' | 'corrupt' | 'full' | 'unavailable'

export class StoreError extends Error {
  override readonly name = 'StoreError'
  readonly fault: StoreFault

  constructor(fault: StoreFault, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.fault = fault
  }
}

const NAMESPACE = /^[a-z][a-z-]*$/
const VISIBLE = /^[\x21-\x7e]+$/

/** Whether a record can stand here. What clients make up is no place, and so nothing is found there. */
export function isPlace({ namespace, owner, key }: Place): boolean {
  return isShelf(namespace, owner) && key.length <= LONGEST.key && VISIBLE.test(key)
}

export function isShelf(namespace: string, owner: string): boolean {
  return (
    namespace.length <= LONGEST.namespace &&
    NAMESPACE.test(namespace) &&
    owner.length <= LONGEST.owner &&
    VISIBLE.test(owner)
  )
}

/** Throws {@link StoreError} where a record could be found by nobody, or is too large. */
export function checkDraft(draft: Place & { readonly value: Uint8Array }): void {
  if (!isPlace(draft)) throw new StoreError('unavailable', 'a record has a key that no store can keep')
  checkValue(draft.value)
}

export function checkValue(value: Uint8Array): void {
  if (value.length > LARGEST_VALUE) {
    throw new StoreError('full', `a record of ${value.length} bytes is over the limit of ${LARGEST_VALUE}`)
  }
}
