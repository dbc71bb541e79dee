import type { Accounts } from '../core/accounts.js'
import type { Blobs, Change, Claim, Draft, Place, Range, ScanRange, Store, StoredRecord } from '../core/store.js'

/** What a driver does with records; each of these is as in {@link Store}. */
interface Records extends Omit<Store, 'get' | 'accounts' | 'blobs' | 'close'> {
  get(place: Place): Promise<StoredRecord | undefined>
}

/** A store put together from the parts of a driver. */
export abstract class DriverStore implements Store {
  abstract readonly accounts: Accounts
  abstract readonly blobs: Blobs
  protected readonly records: Records

  protected constructor(records: Records) {
    this.records = records
  }

  create(draft: Draft): Promise<StoredRecord | undefined> {
    return this.records.create(draft)
  }

  get(namespace: string, owner: string, key: string): Promise<StoredRecord | undefined> {
    return this.records.get({ namespace, owner, key })
  }

  replace(current: StoredRecord, next: Change): Promise<StoredRecord | undefined> {
    return this.records.replace(current, next)
  }

  delete(current: Place & { readonly version?: number }): Promise<boolean> {
    return this.records.delete(current)
  }

  list(namespace: string, owner: string, range: Range): Promise<readonly StoredRecord[]> {
    return this.records.list(namespace, owner, range)
  }

  claim(namespace: string, claim: Claim): Promise<readonly StoredRecord[]> {
    return this.records.claim(namespace, claim)
  }

  nextDue(namespace: string): Promise<number | undefined> {
    return this.records.nextDue(namespace)
  }

  scan(namespace: string, range: ScanRange): Promise<readonly StoredRecord[]> {
    return this.records.scan(namespace, range)
  }

  /** Of records alone. */
  sweep(now: number, limit: number): Promise<number> {
    return this.records.sweep(now, limit)
  }

  abstract close(): Promise<void>
}
