import { createHash } from 'node:crypto'
import { type ByteRange, type Place, type Store, type StoredBlob, StoreError } from '../../core/store.js'
import type { TaskShape } from '../../core/task.js'
import { stored } from '../../kernel/stored.js'
import { sniff } from '../../net/media-type.js'
import type { Reading } from './reading.js'
import type { Artifact, Kept, Task } from './record.js'
import { FAILURES } from './transition.js'

const NAMESPACE = 'task-results'
/** Size of the pieces that are handed to the store. */
const CHUNK_BYTES = 256 * 1024

/**
 * Stores results that upstreams put into their answers: blobs, each under the digest of its bytes, so that writing an old
 * answer's result late overwrites nothing. They are deleted with their task, or expire.
 */
export class Results {
  readonly #store: Store
  readonly #onFault: (error: unknown) => void

  constructor(store: Store, onFault: (error: unknown) => void) {
    this.#store = store
    this.#onFault = onFault
  }

  /**
   * Stores the inline results of an answer and moves them to `artifacts`. A result that is too large makes the task fail.
   * Undefined if the store failed.
   */
  async keep(task: Task, reading: Reading, shape: TaskShape): Promise<Reading | undefined> {
    const artifacts = [...reading.artifacts]
    for (const inline of reading.inline) {
      const bytes = Buffer.from(inline.base64, 'base64')
      if (bytes.length === 0) continue
      if (bytes.length > shape.maxInline) {
        if (reading.state === 'succeeded') return tooLarge(reading)
        continue
      }
      const kept = { digest: digestOf(bytes), size: bytes.length, type: inline.type || typeOf(bytes) }
      const isEnd = reading.state === 'succeeded'
      const now = Date.now()
      const expires = isEnd ? now + shape.retention : Math.max(now, task.deadline) + shape.grace + shape.retention
      if (!(await this.put(placeOf(task, kept), bytes, expires))) return undefined
      artifacts.push({ variant: inline.variant, kept })
    }
    return { ...reading, artifacts, inline: [] }
  }

  /** Undefined if the blob is gone. Throws `unavailable` if the store does not answer. */
  async open(task: Task, kept: Kept, range?: ByteRange): Promise<StoredBlob | undefined> {
    return await stored(this.#store.blobs.get(placeOf(task, kept), range))
  }

  /** Deletes the task's blobs that `artifacts` does not contain. What cannot be deleted now expires. */
  async drop(task: Task, artifacts: readonly Artifact[] = []): Promise<void> {
    const left = new Set(artifacts.map(({ kept }) => kept?.digest))
    const gone = task.artifacts.flatMap(({ kept }) => (kept === undefined || left.has(kept.digest) ? [] : kept))
    try {
      for (const kept of gone) await this.#store.blobs.delete(placeOf(task, kept))
    } catch (error) {
      if (!(error instanceof StoreError)) throw error
      this.#onFault(error)
    }
  }

  private async put(place: Place, bytes: Buffer, expires: number): Promise<boolean> {
    const { blobs } = this.#store
    try {
      const known = await blobs.get(place)
      if (known === undefined || known.expires < expires) {
        await blobs.put(place, chunksOf(bytes), { expires, limit: bytes.length })
      }
      return true
    } catch (error) {
      if (!(error instanceof StoreError)) throw error
      this.#onFault(error)
      return false
    }
  }
}

function placeOf({ id, owner }: Task, { digest }: Kept): Place {
  return { namespace: NAMESPACE, owner, key: `${id}.${digest}` }
}

function digestOf(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex').slice(0, 32)
}

async function* chunksOf(bytes: Buffer): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += CHUNK_BYTES) yield bytes.subarray(at, at + CHUNK_BYTES)
}

/** Detects the media type by the first bytes; empty if unknown. */
function typeOf(bytes: Buffer): string {
  if (bytes.toString('latin1', 4, 8) === 'ftyp') return 'video/mp4'
  if (bytes.toString('hex', 0, 4) === '1a45dfa3') return 'video/webm'
  return sniff(bytes) ?? ''
}

function tooLarge(reading: Reading): Reading {
  const error = { code: 'result_too_large', message: FAILURES.result_too_large }
  return { ...reading, state: 'failed', artifacts: [], inline: [], error }
}
