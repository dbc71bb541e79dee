/**
 * An approximate LRU cache of at most `2 × halfSize` values. When the young half is full it becomes the old half, which
 * drops the values that were not read since the last swap.
 */
export class LruCache<Value> {
  readonly #halfSize: number
  #young = new Map<string, Value>()
  #old = new Map<string, Value>()

  constructor(halfSize: number) {
    this.#halfSize = halfSize
  }

  get(key: string): Value | undefined {
    const young = this.#young.get(key)
    if (young !== undefined) return young
    const old = this.#old.get(key)
    if (old !== undefined) this.set(key, old)
    return old
  }

  set(key: string, value: Value): void {
    if (this.#young.size >= this.#halfSize) {
      this.#old = this.#young
      this.#young = new Map()
    }
    this.#young.set(key, value)
  }

  /** Removes the values for which `isOld` says so; looks at all of them. */
  prune(isOld: (value: Value) => boolean): void {
    for (const half of [this.#young, this.#old]) {
      for (const [key, value] of half) if (isOld(value)) half.delete(key)
    }
  }
}
