import type { JsonObject } from './json.js'

/** A file that was uploaded, or that a batch has made. */
export interface StoredFile {
  readonly id: string
  /** As its owner calls it. */
  readonly name: string
  readonly type: string
  /** Of the compatible interface; empty for files of the native one. */
  readonly purpose: string
  readonly bytes: Buffer
  /** Seconds since the epoch. */
  readonly created: number
  /** When it ends by the clock, seconds since the epoch, where its owner wished for an end. */
  readonly expires?: number
  /** Of the native interface: when it came by the clock, milliseconds since the epoch; its end is counted from then. */
  readonly stored?: number
}

/** An upload in pieces. */
interface OpenUpload {
  readonly name: string
  readonly type: string
  readonly pieces: readonly Buffer[]
  readonly size: number
}

/** A file of the compatible interface that comes in parts. */
export interface StoredUpload {
  readonly request: JsonObject
  /** By id, as they came. */
  readonly parts: ReadonlyMap<string, Buffer>
  readonly state: 'pending' | 'completed' | 'cancelled'
  readonly created: number
}

/** A batch, as far as it has come. */
export interface StoredBatch {
  /** How often it has been asked for. */
  readonly polls: number
  readonly cancelled: boolean
  /** What it was asked to do, as its protocol says it. */
  readonly request: JsonObject
  /** Names of the files with its results, once it is done. */
  readonly outputs: readonly (string | undefined)[]
  readonly created: number
}

const MAX_FILES = 1000
const MAX_BYTES = 64 * 1024 * 1024

/** Things by id: the last 1,000, and at most 64 MiB of them. */
export class Things<T> {
  readonly #kept = new Map<string, T>()
  readonly #size: (thing: T) => number
  #bytes = 0
  #made = 0

  constructor(size: (thing: T) => number) {
    this.#size = size
  }

  /** How many have been made so far: no two have the same id, though requests be the same. */
  get made(): number {
    return this.#made
  }

  put(id: string, thing: T): void {
    if (!this.drop(id)) this.#made++
    this.#kept.set(id, thing)
    this.#bytes += this.#size(thing)
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= MAX_FILES && this.#bytes <= MAX_BYTES) break
      this.drop(oldest)
    }
  }

  get(id: string): T | undefined {
    return this.#kept.get(id)
  }

  get all(): readonly T[] {
    return [...this.#kept.values()]
  }

  entries(): IterableIterator<readonly [id: string, thing: T]> {
    return this.#kept.entries()
  }

  drop(id: string): boolean {
    const thing = this.#kept.get(id)
    if (thing === undefined) return false
    this.#bytes -= this.#size(thing)
    return this.#kept.delete(id)
  }

  clear(): void {
    this.#kept.clear()
    this.#bytes = 0
    this.#made = 0
  }
}

/** Files, uploads and batches. Those of two interfaces do not know of each other. */
export class Storage {
  readonly files = new Things<StoredFile>(file => file.bytes.length)
  readonly nativeFiles = new Things<StoredFile>(file => file.bytes.length)
  readonly messageFiles = new Things<StoredFile>(file => file.bytes.length)
  readonly uploads = new Things<OpenUpload>(upload => upload.size)
  readonly partedUploads = new Things<StoredUpload>(({ parts }) =>
    [...parts.values()].reduce((sum, part) => sum + part.length, 0),
  )
  readonly batches = new Things<StoredBatch>(batch => JSON.stringify(batch.request).length)
  readonly nativeBatches = new Things<StoredBatch>(batch => JSON.stringify(batch.request).length)
  readonly messageBatches = new Things<StoredBatch>(batch => JSON.stringify(batch.request).length)

  clear(): void {
    const { files, nativeFiles, messageFiles, uploads, partedUploads, batches, nativeBatches, messageBatches } = this
    const batched = [batches, nativeBatches, messageBatches]
    for (const things of [files, nativeFiles, messageFiles, uploads, partedUploads, ...batched]) things.clear()
  }
}

/** A batch runs when it is asked for the first time, and is done from the second time on. */
const POLLS_TO_END = 2

export function isDone({ polls }: StoredBatch): boolean {
  return polls >= POLLS_TO_END
}

/** The batch once it has been looked at again; what it makes is made by the look that finds it done. */
export function looked(before: StoredBatch, finish: (batch: StoredBatch) => StoredBatch): StoredBatch {
  if (before.cancelled) return before
  const batch = { ...before, polls: before.polls + 1 }
  return isDone(batch) && !isDone(before) ? finish(batch) : batch
}
