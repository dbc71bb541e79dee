import type { Store } from '../../core/store.js'
import { stored } from '../responses/faults.js'
import { isTaskId, type Task } from './record.js'

const NAMESPACE = 'tasks-gone'
/** How long a list goes on after a task that has been taken out, milliseconds. */
const RETENTION_MS = 3_600_000

/** Where a task stood in its owner's list. */
interface Position {
  readonly created: number
  readonly key: string
}

/** Keeps the place of a task that is taken out, and nothing else of it: whoever lists page by page may have it in hand. */
export async function keepTombstone(store: Store, { kind, owner, id, created }: Task): Promise<void> {
  const value = Buffer.alloc(0)
  const place = { namespace: NAMESPACE, owner, key: `${kind}.${id}` }
  await stored(store.create({ ...place, created, expires: Date.now() + RETENTION_MS, value }))
}

/** Where a task stood that has been taken out; undefined where there was none, or nobody remembers. */
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
