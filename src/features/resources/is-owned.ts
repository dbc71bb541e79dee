import type { ScanRange, Store } from '../../core/store.js'
import { isPlace } from '../../core/store-place.js'
import { stored } from '../../kernel/stored.js'

/** Most owners that are searched; beyond that every key counts as owned, since the search would take too long. */
const MAX_OWNERS = 1000

/**
 * Whether any owner has a record with that key. Reads once per owner (there are as many as keys). Throws `unavailable`
 * if the store fails.
 */
export async function isOwnedByAnyone(store: Store, namespace: string, key: string): Promise<boolean> {
  let after: ScanRange['after']
  for (let owners = 0; owners < MAX_OWNERS; owners++) {
    const [next] = await stored(store.scan(namespace, { limit: 1, ...(after === undefined ? {} : { after }) }))
    if (next === undefined) return false
    const { owner } = next
    if (!isPlace({ namespace, owner, key })) return true
    if ((await stored(store.get(namespace, owner, key))) !== undefined) return true
    after = { owner, ...BEHIND }
  }
  return true
}

/** Sorts after all records of an owner. */
const BEHIND = { created: Number.MAX_SAFE_INTEGER, key: '~' }
