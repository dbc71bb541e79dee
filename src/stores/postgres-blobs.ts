import { randomBytes } from 'node:crypto'
import {
  type Blobs,
  type ByteRange,
  checkPlace,
  isPlace,
  type Keep,
  MAX_PIECE_BYTES,
  type Place,
  type StoredBlob,
  StoreError,
} from '../core/store.js'
import { chunkRanges, inChunks } from './chunks.js'
import { type PostgresPool, statement } from './postgres-pool.js'
import { bytesOf } from './postgres-records.js'

/** How long a blob may wait for its next piece before a sweep takes it for abandoned, milliseconds. */
const ABANDONED_AFTER_MS = 3_600_000

const BEGIN = statement('INSERT INTO blobs VALUES ($1, $2, $3, $4, 0, $5, false)')
const ADD = statement(`
  WITH alive AS (UPDATE blobs SET expires = $4 WHERE id = $1 AND expires < $5 RETURNING 1)
  INSERT INTO blob_pieces VALUES ($1, $2, $3)`)
const NAME = statement('SELECT blob_name($1, $2, $3) AS done')
const DISCARD = statement('DELETE FROM blobs WHERE id = $1')
const GET = statement(`
  SELECT id, size, expires FROM blobs WHERE namespace = $1 AND owner = $2 AND key = $3 AND named AND expires > $4`)
const READ = statement('SELECT substring(bytes FROM $3 FOR $4) AS bytes FROM blob_pieces WHERE id = $1 AND number = $2')
const DELETE = statement(`
  DELETE FROM blobs WHERE namespace = $1 AND owner = $2 AND key = $3 AND named RETURNING expires`)
const SWEEP = statement(`
  DELETE FROM blobs WHERE id = ANY (ARRAY(
    SELECT id FROM blobs WHERE expires <= $1 LIMIT $2 FOR UPDATE SKIP LOCKED
  )) RETURNING 1`)

/** Blobs as rows of pieces. A blob gets its name when complete; an incomplete one is removed after an hour without writes. */
export class PostgresBlobs implements Blobs {
  readonly #pool: PostgresPool
  readonly #now: () => number

  constructor(pool: PostgresPool, now: () => number) {
    this.#pool = pool
    this.#now = now
  }

  async put(place: Place, source: AsyncIterable<Uint8Array>, { expires, limit }: Keep): Promise<number> {
    this.#pool.checkOpen()
    checkPlace(place)
    const { namespace, owner, key } = place
    const id = randomBytes(12).toString('base64url')
    await this.#pool.query(BEGIN, id, namespace, owner, key, this.#now() + ABANDONED_AFTER_MS)
    let size = 0
    try {
      for await (const piece of inChunks(source, limit)) {
        const now = this.#now()
        await this.#pool.query(
          ADD,
          id,
          Math.floor(size / MAX_PIECE_BYTES),
          piece,
          now + ABANDONED_AFTER_MS,
          now + ABANDONED_AFTER_MS / 2,
        )
        size += piece.length
      }
      const [named] = await this.#pool.query(NAME, id, size, expires)
      if (named?.done !== true) throw new StoreError('unavailable', 'a blob took too long to be written')
    } catch (error) {
      await this.#pool.query(DISCARD, id).catch(() => undefined)
      throw error
    }
    return size
  }

  async get(place: Place, range: ByteRange = {}): Promise<StoredBlob | undefined> {
    this.#pool.checkOpen()
    if (!isPlace(place)) return undefined
    const { namespace, owner, key } = place
    const [row] = await this.#pool.query(GET, namespace, owner, key, this.#now())
    if (row === undefined) return undefined
    const size = Number(row.size)
    return { size, expires: Number(row.expires), pieces: this.read(String(row.id), size, range) }
  }

  async delete(place: Place): Promise<boolean> {
    this.#pool.checkOpen()
    if (!isPlace(place)) return false
    const { namespace, owner, key } = place
    const [row] = await this.#pool.query(DELETE, namespace, owner, key)
    return row !== undefined && Number(row.expires) > this.#now()
  }

  async sweep(now: number, limit: number): Promise<number> {
    return (await this.#pool.query(SWEEP, now, limit)).length
  }

  private async *read(id: string, size: number, range: ByteRange): AsyncGenerator<Buffer> {
    for (const { index, from, to } of chunkRanges(size, range)) {
      const [row] = await this.#pool.query(READ, id, index, from - index * MAX_PIECE_BYTES + 1, to - from)
      const piece = bytesOf(row?.bytes)
      if (piece.length !== to - from) throw new StoreError('unavailable', 'a blob was deleted while it was read')
      yield piece
    }
  }
}
