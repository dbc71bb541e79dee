import type { Store } from '../../core/store.js'
import { stored } from '../../kernel/stored.js'
import { isOwnedByAnyone } from '../resources/is-owned.js'
import type { StateBounds } from './bounds.js'
import type { StoredResponse } from './stored.js'

const ITEMS = 'response-items'
/** Valid keys of the store. */
const KEY = /^[\x21-\x7e]{1,256}$/

/** The response that an item belongs to, by the item's owner and id. */
export class ItemIndex {
  readonly #store: Store
  readonly #bounds: Pick<StateBounds, 'indexed' | 'keep'>
  readonly #now: () => number
  /** Entries being written. */
  readonly #pending = new Map<string, string>()

  constructor(store: Store, bounds: Pick<StateBounds, 'indexed' | 'keep'>, now: () => number) {
    this.#store = store
    this.#bounds = bounds
    this.#now = now
  }

  /** Records the first items; they can be found at once. Rejects with a `StoreError` if the write fails. */
  async note(
    owner: string,
    { id: response, created }: Pick<StoredResponse, 'id' | 'created'>,
    items: readonly string[],
  ): Promise<void> {
    const keys = this.noted(items)
    for (const key of keys) this.#pending.set(addressOf(owner, key), response)
    const value = Buffer.from(response)
    const expires = this.#now() + this.#bounds.keep
    try {
      await Promise.all(keys.map(key => this.#store.create({ namespace: ITEMS, owner, key, created, expires, value })))
    } finally {
      for (const key of keys) this.#pending.delete(addressOf(owner, key))
    }
  }

  /** The id of the response that an item belongs to. Throws `unavailable` if the store fails. */
  async responseOf(owner: string, item: string): Promise<string | undefined> {
    const pending = this.#pending.get(addressOf(owner, item))
    if (pending !== undefined) return pending
    const entry = await stored(this.#store.get(ITEMS, owner, item))
    return entry && Buffer.from(entry.value).toString('utf8')
  }

  /** Whether any key has an item with that id. */
  async isOwned(item: string): Promise<boolean> {
    const isPending = [...this.#pending.keys()].some(address => address.endsWith(` ${item}`))
    return isPending || (await isOwnedByAnyone(this.#store, ITEMS, item))
  }

  /** Throws `unavailable` if the store fails. */
  async forget(owner: string, items: readonly string[]): Promise<void> {
    for (const key of this.noted(items)) await stored(this.#store.delete({ namespace: ITEMS, owner, key }))
  }

  private noted(items: readonly string[]): readonly string[] {
    return items.filter(item => KEY.test(item)).slice(0, this.#bounds.indexed)
  }
}

function addressOf(owner: string, item: string): string {
  return `${owner} ${item}`
}
