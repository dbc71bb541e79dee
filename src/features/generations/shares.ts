import { LruCache } from '../../core/lru.js'

/** Keys whose requests are counted are at most twice as many; of others the share is right on the average. */
const HALF_COUNTED_KEYS = 10_000

/**
 * Which requests of each key are in a share, by counting: of any `1 / share` requests in a row of a key one is in it. A key begins
 * at a place by chance, so that not all keys wait equally long, and that of keys with a single request the share is in it, too.
 */
export class Shares {
  readonly #share: number
  readonly #random: () => number
  readonly #places = new LruCache<{ at: number }>(HALF_COUNTED_KEYS)

  constructor(share: number, random: () => number = Math.random) {
    this.#share = share
    this.#random = random
  }

  /** Whether the next request of the key is in the share. */
  takes(key: string): boolean {
    let place = this.#places.get(key)
    if (place === undefined) {
      place = { at: this.#random() }
      this.#places.set(key, place)
    }
    place.at += this.#share
    if (place.at < 1) return false
    place.at -= 1
    return true
  }
}
