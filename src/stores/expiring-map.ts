import { StoreError } from '../core/store.js'
import { SortedIndex } from './sorted-index.js'

interface Kept<V> {
  readonly value: V
  readonly expires: number
}

/** Values that are forgotten some time, at most so many. Nothing is evicted before its time. */
export class ExpiringMap<V> {
  readonly #max: number
  readonly #kept = new Map<string, Kept<V>>()
  readonly #byExpiry = new SortedIndex()

  constructor(max: number) {
    this.#max = max
  }

  get size(): number {
    return this.#kept.size
  }

  get(key: string): Kept<V> | undefined {
    return this.#kept.get(key)
  }

  set(key: string, value: V, expires: number): void {
    const known = this.#kept.get(key)
    if (known?.expires !== expires) {
      if (known !== undefined) this.#byExpiry.remove({ created: known.expires, key })
      this.#byExpiry.add({ created: expires, key })
    }
    this.#kept.set(key, { value, expires })
  }

  /** Throws {@link StoreError} if so many more do not fit, even without those that have expired. */
  makeRoom(more: number, now: number): void {
    const excess = this.#kept.size + more - this.#max
    if (excess > 0 && this.sweep(now, excess) < excess) throw new StoreError('full', 'the memory store is full')
  }

  /** Removes the earliest that have expired, at most `limit`; returns their number. */
  sweep(now: number, limit: number): number {
    const expired: string[] = []
    for (const { created, key } of this.#byExpiry.walk({ order: 'ascending' })) {
      if (created > now || expired.length >= limit) break
      expired.push(key)
    }
    for (const key of expired) this.delete(key)
    return expired.length
  }

  values(): IterableIterator<Kept<V>> {
    return this.#kept.values()
  }

  private delete(key: string): void {
    const known = this.#kept.get(key)
    if (known === undefined) return
    this.#kept.delete(key)
    this.#byExpiry.remove({ created: known.expires, key })
  }
}
