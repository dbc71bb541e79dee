import type { SchemaFacts } from '../core/store-config.js'
import { DriverStore } from './driver-store.js'
import { FileAccounts } from './file-accounts.js'
import { FileBlobs } from './file-blobs.js'
import { FileEnvironment, type Schema, writtenSchema } from './file-environment.js'
import { FileRecords } from './file-records.js'

/** The schema version of the file. A file with a higher number was written by a later version of this program. */
const SCHEMA: Schema = {
  version: 2,
  migrate: environment => new FileRecords(environment).migrateFirst(),
}

/**
 * Keeps everything in a folder of this machine, in a memory-mapped B+ tree that survives a crash at any point. Several
 * processes of this machine may have it open at once. A write's promise is fulfilled when the bytes are on the disk.
 */
export class FileStore extends DriverStore {
  override readonly accounts: FileAccounts
  override readonly blobs: FileBlobs
  readonly #environment: FileEnvironment

  /** The schema version of the store and of this program; changes nothing. Throws {@link StoreError}. */
  static async inspect(folder: string): Promise<SchemaFacts> {
    return { written: await writtenSchema(folder), known: SCHEMA.version }
  }

  /** Throws {@link StoreError} where the folder cannot be used, holds something else, or is of a later version. */
  constructor(folder: string, now: () => number = Date.now) {
    const environment = new FileEnvironment(folder, SCHEMA, now)
    super(new FileRecords(environment))
    this.#environment = environment
    this.accounts = new FileAccounts(this.#environment)
    this.blobs = new FileBlobs(this.#environment)
  }

  override async sweep(now: number, limit: number): Promise<number> {
    const taken = await super.sweep(now, limit)
    return taken + (await this.blobs.sweep(now, limit)) + (await this.accounts.sweep(now, limit))
  }

  override close(): Promise<void> {
    return this.#environment.close()
  }
}
