import { randomBytes } from 'node:crypto'
import { type FileHandle, open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Database } from 'lmdb'
import { makeFolderSync } from '../core/folders.js'
import {
  type Blobs,
  type ByteRange,
  checkPlace,
  isPlace,
  isUnclear,
  type Keep,
  MAX_PIECE_BYTES,
  type Place,
  type StoredBlob,
  StoreError,
} from '../core/store.js'
import { chunkRanges, inChunks } from './chunks.js'
import { BLOBS, storeErrorOf } from './data-folder.js'
import { type FileEnvironment, type Key, LAST, NOTHING, quietly } from './file-environment.js'

interface Entry {
  /** Its name in the folder of blobs. */
  readonly file: string
  readonly size: number
  readonly expires: number
}

/** How long a blob may wait for its next piece before a sweep takes its file for abandoned, milliseconds. */
const ABANDONED_AFTER_MS = 3_600_000

/**
 * Blobs as files beside the store, which has their names. A file is written to the disk before it gets its name, and
 * a removal is recorded before it happens, so that a sweep after a crash finds everything.
 */
export class FileBlobs implements Blobs {
  readonly #environment: FileEnvironment
  readonly #folder: string
  /** By [namespace, owner, key]. */
  readonly #entries: Database<Entry, Key>
  /** [expires, namespace, owner, key]. */
  readonly #expiry: Database<Buffer, Key>
  /** [time, file]: files without a name in the store, to be removed after that time. */
  readonly #waste: Database<Buffer, Key>

  constructor(environment: FileEnvironment) {
    this.#environment = environment
    this.#folder = join(environment.folder, BLOBS)
    this.#entries = environment.json('blobs')
    this.#expiry = environment.bytes('blob-expiry')
    this.#waste = environment.bytes('blob-waste')
    try {
      makeFolderSync(this.#folder, 0o700)
    } catch (error) {
      throw storeErrorOf(error, environment.folder)
    }
  }

  async put(place: Place, source: AsyncIterable<Uint8Array>, { expires, limit }: Keep): Promise<number> {
    this.#environment.checkOpen()
    checkPlace(place)
    const file = randomBytes(16).toString('hex')
    let waste: Key = [this.#environment.now() + ABANDONED_AFTER_MS, file]
    await this.#environment.transaction(() => quietly(this.#waste.put(waste, NOTHING)))
    let [size, isNaming] = [0, false]
    let old: Entry | undefined
    try {
      const handle = await this.disk(() => open(this.pathOf(file), 'wx', 0o600))
      try {
        for await (const piece of inChunks(source, limit)) {
          // All of it: a single write may be short on a disk that is almost full.
          await this.disk(() => handle.writeFile(piece))
          size += piece.length
          waste = await this.postpone(waste)
        }
        await this.disk(() => handle.sync())
      } finally {
        await handle.close()
      }
      isNaming = true
      old = await this.name(place, { file, size, expires }, waste)
    } catch (error) {
      // It may get its name later: until then it is waste, which a sweep removes.
      if (!isNaming || !isUnclear(error)) await this.discard(waste).catch(() => undefined)
      throw error
    }
    if (old !== undefined) await this.discard([0, old.file]).catch(() => undefined)
    return size
  }

  async get(place: Place, range: ByteRange = {}): Promise<StoredBlob | undefined> {
    this.#environment.renew()
    if (!isPlace(place)) return undefined
    const entry = this.#environment.read(() => this.#entries.get(keyOf(place)))
    if (entry === undefined || entry.expires <= this.#environment.now()) return undefined
    return { size: entry.size, expires: entry.expires, pieces: this.read(entry, range) }
  }

  async delete(place: Place): Promise<boolean> {
    this.#environment.checkOpen()
    if (!isPlace(place)) return false
    const entry = await this.#environment.transaction(() => this.unname(keyOf(place)))
    if (entry === undefined) return false
    await this.discard([0, entry.file])
    return entry.expires > this.#environment.now()
  }

  async sweep(now: number, limit: number): Promise<number> {
    this.#environment.renew()
    const due = this.#environment.read(() => [...this.#expiry.getKeys({ end: [now, LAST], limit })])
    let taken = 0
    if (due.length > 0) {
      await this.#environment.transaction(() => {
        for (const [, ...at] of due) {
          const entry = this.#entries.get(at)
          if (entry === undefined || entry.expires > now) continue
          this.unname(at)
          taken++
        }
      })
      this.#environment.renew()
    }
    const waste = this.#environment.read(() => [...this.#waste.getKeys({ end: [now, LAST], limit })])
    for (const key of waste) await this.discard(key)
    return taken
  }

  /** Replaces the current file with a finished one, and returns the old one. */
  private name(place: Place, entry: Entry, waste: Key): Promise<Entry | undefined> {
    const at = keyOf(place)
    return this.#environment.transaction(() => {
      const old = this.unname(at)
      quietly(this.#entries.put(at, entry))
      quietly(this.#expiry.put([entry.expires, ...at], NOTHING))
      quietly(this.#waste.remove(waste))
      return old
    })
  }

  /** Inside a transaction only. */
  private unname(at: Key): Entry | undefined {
    const entry = this.#entries.get(at)
    if (entry === undefined) return undefined
    quietly(this.#entries.remove(at))
    quietly(this.#expiry.remove([entry.expires, ...at]))
    quietly(this.#waste.put([0, entry.file], NOTHING))
    return entry
  }

  private async postpone(waste: Key): Promise<Key> {
    const [until, file = ''] = waste
    const now = this.#environment.now()
    if (Number(until) - now > ABANDONED_AFTER_MS / 2) return waste
    const later: Key = [now + ABANDONED_AFTER_MS, file]
    await this.#environment.transaction(() => {
      quietly(this.#waste.remove(waste))
      quietly(this.#waste.put(later, NOTHING))
    })
    return later
  }

  private async discard(waste: Key): Promise<void> {
    await this.disk(() => rm(this.pathOf(String(waste[1])), { force: true }))
    await this.#environment.transaction(() => quietly(this.#waste.remove(waste)))
  }

  private async *read({ file, size }: Entry, range: ByteRange): AsyncGenerator<Buffer> {
    const handle: FileHandle = await this.disk(() => open(this.pathOf(file)))
    try {
      for (const { from, to } of chunkRanges(size, range)) {
        const piece = Buffer.allocUnsafe(Math.min(MAX_PIECE_BYTES, to - from))
        const { bytesRead } = await this.disk(() => handle.read(piece, 0, piece.length, from))
        if (bytesRead < piece.length) throw new StoreError('corrupt', `a blob in ${this.#folder} is truncated`)
        yield piece
      }
    } finally {
      await handle.close()
    }
  }

  private pathOf(file: string): string {
    return join(this.#folder, file)
  }

  private async disk<T>(act: () => Promise<T>): Promise<T> {
    try {
      return await act()
    } catch (error) {
      const { fault, message } = storeErrorOf(error, this.#environment.folder)
      throw new StoreError(fault === 'refused' ? 'unavailable' : fault, message, error)
    }
  }
}

function keyOf({ namespace, owner, key }: Place): Key {
  return [namespace, owner, key]
}
