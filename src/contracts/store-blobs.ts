import { createHash } from 'node:crypto'
import { type ByteRange, MAX_PIECE_BYTES, type Place, type Store, StoreError } from '../core/store.js'
import { type Check, HOUR_MS, START } from './store-stage.js'

const PLACE: Place = { namespace: 'films', owner: 'ann', key: 'film-1' }
const KEEP = { expires: START + HOUR_MS, limit: 64 * MAX_PIECE_BYTES }

/** What every driver does with bytes by reference. */
export function blobContract(check: Check): void {
  check('a blob comes back as it was, in pieces of any size', async (t, store) => {
    for (const [n, size] of [
      0,
      1,
      MAX_PIECE_BYTES - 1,
      MAX_PIECE_BYTES,
      MAX_PIECE_BYTES + 1,
      3 * MAX_PIECE_BYTES + 17,
    ].entries()) {
      const place = { ...PLACE, key: `film-${n}` }
      t.equal(await store.blobs.put(place, chunks(size, 100_003), KEEP), size)
      const found = await store.blobs.get(place)
      t.same([found?.size, found?.expires], [size, KEEP.expires])
      t.equal(await digest(store, place), hash(bytes(size)), `${size} bytes`)
    }
  })

  check('pieces are small, also where the source gives all of it at once', async (t, store) => {
    await store.blobs.put(PLACE, chunks(5 * MAX_PIECE_BYTES + 1, 100 * MAX_PIECE_BYTES), KEEP)
    for await (const piece of (await store.blobs.get(PLACE))?.pieces ?? []) t.ok(piece.length <= MAX_PIECE_BYTES)
  })

  check('a part of it is read alone, cut to what is there', async (t, store) => {
    const size = 2 * MAX_PIECE_BYTES + 500
    await store.blobs.put(PLACE, chunks(size, 70_000), KEEP)
    const all = bytes(size)
    const ranges: (readonly [ByteRange, number, number])[] = [
      [{ start: 0, end: 1 }, 0, 1],
      [{ start: MAX_PIECE_BYTES - 1, end: MAX_PIECE_BYTES + 1 }, MAX_PIECE_BYTES - 1, MAX_PIECE_BYTES + 1],
      [{ start: 2 * MAX_PIECE_BYTES }, 2 * MAX_PIECE_BYTES, size],
      [{ end: 10 }, 0, 10],
      [{ start: size - 3, end: size + 1000 }, size - 3, size],
      [{ start: size }, size, size],
      [{ start: 9, end: 5 }, 0, 0],
    ]
    for (const [range, from, to] of ranges) {
      t.equal(await digest(store, PLACE, range), hash(all.subarray(from, to)), JSON.stringify(range))
      t.equal((await store.blobs.get(PLACE, range))?.size, size)
    }
  })

  check('what no one put is not there, and foreign is the same as unknown', async (t, store) => {
    await store.blobs.put(PLACE, chunks(10, 10), KEEP)
    for (const other of [{ owner: 'bob' }, { key: 'film-2' }, { namespace: 'music' }, { key: 'a b' }]) {
      t.equal(await store.blobs.get({ ...PLACE, ...other }), undefined)
      t.equal(await store.blobs.delete({ ...PLACE, ...other }), false)
    }
    t.not(await store.blobs.get(PLACE), undefined)
  })

  check('a later blob takes the place of the former one, whole', async (t, store) => {
    await store.blobs.put(PLACE, chunks(3 * MAX_PIECE_BYTES, MAX_PIECE_BYTES), KEEP)
    await store.blobs.put(PLACE, chunks(20, 7), { ...KEEP, expires: START + 2 * HOUR_MS })
    t.equal((await store.blobs.get(PLACE))?.expires, START + 2 * HOUR_MS)
    t.equal(await digest(store, PLACE), hash(bytes(20)))
  })

  check('over the limit nothing of it stays, and what was there does', async (t, store) => {
    await store.blobs.put(PLACE, chunks(5, 5), KEEP)
    const put = store.blobs.put(PLACE, chunks(2 * MAX_PIECE_BYTES + 1, 9999), { ...KEEP, limit: 2 * MAX_PIECE_BYTES })
    const error = await put.catch((cause: unknown) => cause)
    t.ok(error instanceof StoreError && error.fault === 'full', String(error))
    t.equal(await digest(store, PLACE), hash(bytes(5)))
    t.equal(
      await store.blobs.put(PLACE, chunks(2 * MAX_PIECE_BYTES, 9999), { ...KEEP, limit: 2 * MAX_PIECE_BYTES }),
      2 * MAX_PIECE_BYTES,
    )
  })

  check('a source that fails leaves nothing, and its error goes through', async (t, store) => {
    const broken = new Error('the client disconnected')
    const source = async function* (): AsyncGenerator<Uint8Array> {
      yield* chunks(MAX_PIECE_BYTES + 1, MAX_PIECE_BYTES)
      throw broken
    }
    t.equal(await store.blobs.put(PLACE, source(), KEEP).catch((error: unknown) => error), broken)
    t.equal(await store.blobs.get(PLACE), undefined)
  })

  check('a blob that is being written is not there yet', async (t, store) => {
    let seen: unknown = 'nothing was asked'
    const source = async function* (): AsyncGenerator<Uint8Array> {
      yield* chunks(2 * MAX_PIECE_BYTES, MAX_PIECE_BYTES)
      seen = await store.blobs.get(PLACE)
    }
    await store.blobs.put(PLACE, source(), KEEP)
    t.equal(seen, undefined)
    t.not(await store.blobs.get(PLACE), undefined)
  })

  check('what is deleted is gone', async (t, store) => {
    await store.blobs.put(PLACE, chunks(2 * MAX_PIECE_BYTES, MAX_PIECE_BYTES), KEEP)
    t.equal(await store.blobs.delete(PLACE), true)
    t.equal(await store.blobs.get(PLACE), undefined)
    t.equal(await store.blobs.delete(PLACE), false)
  })

  check('a blob is gone from the moment at which it expires, and is swept', async (t, store, clock) => {
    await store.blobs.put(PLACE, chunks(10, 10), KEEP)
    clock.now = KEEP.expires - 1
    await store.sweep(clock.now, 10)
    t.not(await store.blobs.get(PLACE), undefined)
    clock.now = KEEP.expires
    t.equal(await store.blobs.get(PLACE), undefined)
    t.equal(await store.blobs.delete(PLACE), false)
    await store.sweep(clock.now, 10)
    t.equal(await store.blobs.put(PLACE, chunks(3, 3), { ...KEEP, expires: clock.now + HOUR_MS }), 3)
    t.equal(await digest(store, PLACE), hash(bytes(3)))
  })

  check('a place with an invalid name takes nothing', async (t, store) => {
    await t.rejects(store.blobs.put({ ...PLACE, key: 'a b' }, chunks(1, 1), KEEP), { name: 'StoreError' })
  })
}

/** The first bytes of a sequence that never repeats within a piece. @testonly */
export function bytes(size: number): Buffer {
  const all = Buffer.alloc(size)
  for (let n = 0; n < size; n++) all[n] = (n * 31 + (n >>> 8) * 7 + (n >>> 16)) & 255
  return all
}

/** @testonly */
export async function* chunks(size: number, each: number): AsyncGenerator<Uint8Array> {
  const all = bytes(size)
  for (let at = 0; at < size; at += each) yield all.subarray(at, at + each)
}

function hash(content: Buffer): string {
  return createHash('sha256').update(content).digest('hex')
}

/** Of what is read, and not of what was put. @testonly */
export async function digest(store: Store, place: Place, range?: ByteRange): Promise<string> {
  const sum = createHash('sha256')
  for await (const piece of (await store.blobs.get(place, range))?.pieces ?? []) sum.update(piece)
  return sum.digest('hex')
}
