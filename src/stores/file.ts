import type { Database } from 'lmdb'
import { checkPlace, checkValue, type Entry, isNamespace, type Ledger } from '../core/store.js'
import type { SchemaFacts } from '../core/store-config.js'
import { DriverStore } from './driver-store.js'
import { FileBlobs } from './file-blobs.js'
import { FileCounters } from './file-counters.js'
import { FileEnvironment, LAST, quietly, type Schema, writtenSchema } from './file-environment.js'
import { FileRecords } from './file-records.js'

/** Ledgers in the file. */
class FileLedger implements Ledger {
  readonly #environment: FileEnvironment
  /** By [namespace, sequence]: the length of the owner's name, in one byte, the name, and the value. */
  readonly #entries: Database<Buffer, (string | number)[]>

  constructor(environment: FileEnvironment) {
    this.#environment = environment
    this.#entries = environment.bytes('ledger')
  }

  async append(namespace: string, owner: string, value: Uint8Array): Promise<number> {
    checkPlace({ namespace, owner, key: '-' })
    checkValue(value)
    const bytes = Buffer.concat([Buffer.from([owner.length]), Buffer.from(owner, 'latin1'), value])
    return this.#environment.transaction(() => {
      const [last] = this.#entries.getKeys({ start: [namespace, LAST], end: [namespace], reverse: true, limit: 1 })
      const sequence = 1 + Number(last?.[1] ?? 0)
      quietly(this.#entries.put([namespace, sequence], bytes))
      return sequence
    })
  }

  async entries(
    namespace: string,
    { after = 0, limit }: { readonly after?: number; readonly limit: number },
  ): Promise<readonly Entry[]> {
    this.#environment.checkOpen()
    if (!isNamespace(namespace)) return []
    this.#environment.renew()
    const range = { start: [namespace, after + 1], end: [namespace, LAST], limit }
    return this.#environment
      .read(() => [...this.#entries.getRange(range)])
      .map(({ key, value }) => {
        const begin = 1 + value.readUInt8(0)
        return { sequence: Number(key[1]), owner: value.toString('latin1', 1, begin), value: value.subarray(begin) }
      })
  }
}

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
  override readonly counters: FileCounters
  override readonly ledger: FileLedger
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
    this.counters = new FileCounters(this.#environment)
    this.ledger = new FileLedger(this.#environment)
    this.blobs = new FileBlobs(this.#environment)
  }

  override async sweep(now: number, limit: number): Promise<number> {
    const taken = await super.sweep(now, limit)
    return taken + (await this.blobs.sweep(now, limit)) + (await this.counters.sweep(now, limit))
  }

  override close(): Promise<void> {
    return this.#environment.close()
  }
}
