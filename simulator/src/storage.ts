import { BoundedMap } from './bounded-map.js'
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
  /** By id, in the order of arrival. */
  readonly parts: ReadonlyMap<string, Buffer>
  readonly state: 'pending' | 'completed' | 'cancelled'
  readonly created: number
}

/** A batch and its progress. */
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

const FILES = { sizeOf: ({ bytes }: StoredFile) => bytes.length }
const BATCHES = { sizeOf: ({ request }: StoredBatch) => JSON.stringify(request).length }

/** Files, uploads and batches. Those of two interfaces do not know of each other. */
export class Storage {
  readonly files = new BoundedMap<StoredFile>(FILES)
  readonly nativeFiles = new BoundedMap<StoredFile>(FILES)
  readonly messageFiles = new BoundedMap<StoredFile>(FILES)
  readonly uploads = new BoundedMap<OpenUpload>({ sizeOf: upload => upload.size })
  readonly partedUploads = new BoundedMap<StoredUpload>({
    sizeOf: ({ parts }) => [...parts.values()].reduce((sum, part) => sum + part.length, 0),
  })
  readonly batches = new BoundedMap<StoredBatch>(BATCHES)
  readonly nativeBatches = new BoundedMap<StoredBatch>(BATCHES)
  readonly messageBatches = new BoundedMap<StoredBatch>(BATCHES)

  clear(): void {
    for (const kept of Object.values(this) as BoundedMap<unknown>[]) kept.clear()
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
