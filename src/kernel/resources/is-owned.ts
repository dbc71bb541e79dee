import type { ScanRange, Store } from '../../core/store.js'
import { isPlace } from '../../core/store-place.js'
import { stored } from '../responses/faults.js'

/** Owners that are looked at; of more nobody can tell in time, so whatever is asked for counts as somebody's. */
const MAX_OWNERS = 1000

/**
 * Whether a record of that key is anybody's: from owner to owner, of whom there are as many as keys. Throws `unavailable` where
 * the store fails.
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

/** Behind everything that an owner can have. */
const BEHIND = { created: Number.MAX_SAFE_INTEGER, key: '~' }
