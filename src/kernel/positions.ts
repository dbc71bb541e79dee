import { isPlace, type Place, type Range, type Store } from '../core/store.js'
import { stored } from './stored.js'

/** How long what was deleted may serve as a page's cursor, milliseconds. */
const RETENTION_MS = 3_600_000

type Position = NonNullable<Range['after']>

/**
 * Keeps the position in lists of what is about to be deleted, and no content: a client that reads page by page may use it as a
 * cursor. Never rejects: a full store still deletes.
 */
export async function keepPosition(
  store: Store,
  { namespace, owner, key, created }: Place & Position,
  now: number,
): Promise<void> {
  const expires = now + RETENTION_MS
  await store.create({ namespace, owner, key, created, expires, value: Buffer.alloc(0) }).catch(() => undefined)
}

/** The position of a record, or of what was deleted; undefined if there is none, or it has expired. */
export async function positionOf(store: Store, place: Place): Promise<Position | undefined> {
  const { namespace, owner, key } = place
  const record = isPlace(place) ? await stored(store.get(namespace, owner, key)) : undefined
  return record && { created: record.created, key }
}
