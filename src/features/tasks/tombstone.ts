import type { Store } from '../../core/store.js'
import { stored } from '../../kernel/stored.js'
import { isTaskId, type Task } from './record.js'

const NAMESPACE = 'tasks-gone'
/** How long a deleted task may serve as a page's cursor, milliseconds. */
const RETENTION_MS = 3_600_000

/** A position in an owner's list of tasks. */
interface Position {
  readonly created: number
  readonly key: string
}

/** Keeps a deleted task's position in the list, and no content: a client that reads page by page may use it as a cursor. */
export async function keepTombstone(store: Store, { kind, owner, id, created }: Task): Promise<void> {
  const value = Buffer.alloc(0)
  const place = { namespace: NAMESPACE, owner, key: `${kind}.${id}` }
  await stored(store.create({ ...place, created, expires: Date.now() + RETENTION_MS, value }))
}

/** The position of a deleted task; undefined if it never existed or its tombstone has expired. */
export async function tombstoneOf(
  store: Store,
  kind: Task['kind'],
  owner: string,
  id: string,
): Promise<Position | undefined> {
  if (!isTaskId(id)) return undefined
  const record = await stored(store.get(NAMESPACE, owner, `${kind}.${id}`))
  return record && { created: record.created, key: id }
}
