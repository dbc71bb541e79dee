import { SortedIndex } from './sorted-index.js'

interface Kept<V> {
  readonly value: V
  readonly expires: number
}

/** Values that are forgotten some time, in the order of use, at most so many: those that expire first make room. */
export class ExpiringMap<V> {
  readonly #max: number
  /** The one that was set last is the last. */
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
    this.#kept.delete(key)
    this.#kept.set(key, { value, expires })
    if (this.#kept.size > this.#max) this.sweep(Infinity, this.#kept.size - this.#max)
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

  entries(): IterableIterator<[string, Kept<V>]> {
    return this.#kept.entries()
  }

  delete(key: string): void {
    const known = this.#kept.get(key)
    if (known === undefined) return
    this.#kept.delete(key)
    this.#byExpiry.remove({ created: known.expires, key })
  }
}
