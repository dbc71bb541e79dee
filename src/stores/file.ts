import type { Change, Claim, Draft, Place, Range, ScanRange, Store, StoredRecord } from '../core/store.js'
import type { SchemaFacts } from '../core/store-config.js'
import { FileBlobs } from './file-blobs.js'
import { FileCounters } from './file-counters.js'
import { FileEnvironment, type Schema, writtenSchema } from './file-environment.js'
import { FileLedger } from './file-ledger.js'
import { FileRecords } from './file-records.js'

/** How things stand in the file. A file that says a higher number was written by a later version of this program. */
const SCHEMA: Schema = {
  version: 2,
  migrate: environment => new FileRecords(environment).migrateFirst(),
}

/**
 * Keeps everything in a folder of this machine, in a memory-mapped B+ tree that survives a crash at any point. Several
 * processes of this machine may have it open at once. A write's promise is fulfilled when the bytes are on the disk.
 */
export class FileStore implements Store {
  readonly counters: FileCounters
  readonly ledger: FileLedger
  readonly blobs: FileBlobs
  readonly #environment: FileEnvironment
  readonly #records: FileRecords

  /** What is there, and what this program knows; changes nothing. Throws {@link StoreError}. */
  static async inspect(folder: string): Promise<SchemaFacts> {
    return { written: await writtenSchema(folder), known: SCHEMA.version }
  }

  /** Throws {@link StoreError} where the folder cannot be used, holds something else, or is of a later version. */
  constructor(folder: string, now: () => number = Date.now) {
    this.#environment = new FileEnvironment(folder, SCHEMA, now)
    this.#records = new FileRecords(this.#environment)
    this.counters = new FileCounters(this.#environment)
    this.ledger = new FileLedger(this.#environment)
    this.blobs = new FileBlobs(this.#environment)
  }

  create(draft: Draft): Promise<StoredRecord | undefined> {
    return this.#records.create(draft)
  }

  get(namespace: string, owner: string, key: string): Promise<StoredRecord | undefined> {
    return this.#records.get({ namespace, owner, key })
  }

  replace(current: StoredRecord, next: Change): Promise<StoredRecord | undefined> {
    return this.#records.replace(current, next)
  }

  delete(current: Place & { readonly version?: number }): Promise<boolean> {
    return this.#records.delete(current)
  }

  list(namespace: string, owner: string, range: Range): Promise<readonly StoredRecord[]> {
    return this.#records.list(namespace, owner, range)
  }

  claim(namespace: string, claim: Claim): Promise<readonly StoredRecord[]> {
    return this.#records.claim(namespace, claim)
  }

  nextDue(namespace: string): Promise<number | undefined> {
    return this.#records.nextDue(namespace)
  }

  scan(namespace: string, range: ScanRange): Promise<readonly StoredRecord[]> {
    return this.#records.scan(namespace, range)
  }

  async sweep(now: number, limit: number): Promise<number> {
    const taken = await this.#records.sweep(now, limit)
    return taken + (await this.blobs.sweep(now, limit)) + (await this.counters.sweep(now, limit))
  }

  close(): Promise<void> {
    return this.#environment.close()
  }
}
