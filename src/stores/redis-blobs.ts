import { randomBytes } from 'node:crypto'
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
import { listOf, numberOf, textOf } from './redis-answers.js'
import type { RedisConnection } from './redis-connection.js'
import type { RedisKeys } from './redis-keys.js'
import { NAME_BLOB } from './redis-scripts.js'

/** How long the server keeps expired keys, because clocks differ, milliseconds. */
const EXPIRY_GRACE_MS = 3_600_000
/** Maximum keys of one delete command. */
const MAX_KEYS_PER_DELETE = 100

interface Named {
  readonly id: string
  readonly size: number
  readonly expires: number
}

/** Blobs in pieces. The server itself expires them, even if their writer was killed. */
export class RedisBlobs implements Blobs {
  readonly #connection: RedisConnection
  readonly #keys: RedisKeys
  readonly #now: () => number

  constructor(connection: RedisConnection, keys: RedisKeys, now: () => number) {
    this.#connection = connection
    this.#keys = keys
    this.#now = now
  }

  async put(place: Place, source: AsyncIterable<Uint8Array>, { expires, limit }: Keep): Promise<number> {
    this.#connection.checkOpen()
    checkPlace(place)
    const id = randomBytes(9).toString('base64url')
    let [size, isNaming] = [0, false]
    try {
      for await (const piece of inChunks(source, limit)) {
        const key = this.#keys.piece(place, id, Math.floor(size / MAX_PIECE_BYTES))
        size += piece.length
        await this.#connection.send('set', key, piece, 'PXAT', expires + EXPIRY_GRACE_MS)
      }
      isNaming = true
      const values = [id, size, expires, expires + EXPIRY_GRACE_MS] as const
      const old = namedOf(await this.#connection.run(NAME_BLOB, [this.#keys.blob(place)], ...values))
      if (old !== undefined) await this.discard(place, old).catch(() => undefined)
    } catch (error) {
      // The server may name it later: pieces without a name expire.
      if (!isNaming || !isUnclear(error)) await this.discard(place, { id, size, expires }).catch(() => undefined)
      throw error
    }
    return size
  }

  async get(place: Place, range: ByteRange = {}): Promise<StoredBlob | undefined> {
    this.#connection.checkOpen()
    if (!isPlace(place)) return undefined
    const found = namedOf(await this.#connection.send('hmget', this.#keys.blob(place), 'i', 's', 'e'))
    if (found === undefined || found.expires <= this.#now()) return undefined
    return { size: found.size, expires: found.expires, pieces: this.read(place, found, range) }
  }

  async delete(place: Place): Promise<boolean> {
    this.#connection.checkOpen()
    if (!isPlace(place)) return false
    const old = namedOf(await this.#connection.run(NAME_BLOB, [this.#keys.blob(place)], ''))
    if (old === undefined) return false
    await this.discard(place, old)
    return old.expires > this.#now()
  }

  private async *read(place: Place, { id, size }: Named, range: ByteRange): AsyncGenerator<Buffer> {
    for (const { index, from, to } of chunkRanges(size, range)) {
      const [first, last] = [from - index * MAX_PIECE_BYTES, to - index * MAX_PIECE_BYTES - 1]
      const piece = await this.#connection.send('getrange', this.#keys.piece(place, id, index), first, last)
      if (!Buffer.isBuffer(piece) || piece.length !== to - from) {
        throw new StoreError('unavailable', 'a blob was deleted while it was read')
      }
      yield piece
    }
  }

  private async discard(place: Place, { id, size }: Named): Promise<void> {
    const count = Math.ceil(size / MAX_PIECE_BYTES)
    for (let first = 0; first < count; first += MAX_KEYS_PER_DELETE) {
      const indexes = Array.from({ length: Math.min(MAX_KEYS_PER_DELETE, count - first) }, (_, n) => first + n)
      await this.#connection.send('unlink', ...indexes.map(index => this.#keys.piece(place, id, index)))
    }
  }
}

function namedOf(answer: unknown): Named | undefined {
  const [i, s, e] = listOf(answer)
  const [id, size, expires] = [textOf(i), numberOf(s), numberOf(e)]
  return id === undefined || size === undefined || expires === undefined ? undefined : { id, size, expires }
}
