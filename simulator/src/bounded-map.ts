const MAX_ENTRIES = 1000
const MAX_BYTES = 64 * 1024 * 1024

interface Bounds<T> {
  /** 1,000, if nothing is said. */
  readonly entries?: number
  /** 64 MiB, if nothing is said. */
  readonly bytes?: number
  /** Bytes of a value; none count if nothing is said. */
  readonly sizeOf?: (value: T) => number
}

/** Values by id, at most so many and so large: the one that was put first goes first. */
export class BoundedMap<T> {
  readonly #kept = new Map<string, { readonly value: T; readonly bytes: number }>()
  readonly #bounds: Bounds<T>
  #bytes = 0
  #made = 0

  constructor(bounds: Bounds<T> = {}) {
    this.#bounds = bounds
  }

  /** How many ids have been put so far: what is made by equal requests is told apart by it. */
  get made(): number {
    return this.#made
  }

  /** Puts a value last and drops the old one of its id. A value larger than the bound for all of them is not kept. */
  put(id: string, value: T): void {
    const { entries = MAX_ENTRIES, bytes: most = MAX_BYTES, sizeOf = () => 0 } = this.#bounds
    if (!this.drop(id)) this.#made += 1
    const bytes = sizeOf(value)
    if (bytes > most) return
    this.#kept.set(id, { value, bytes })
    this.#bytes += bytes
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= entries && this.#bytes <= most) break
      this.drop(oldest)
    }
  }

  get(id: string): T | undefined {
    return this.#kept.get(id)?.value
  }

  /** Oldest first. */
  entries(): readonly (readonly [id: string, value: T])[] {
    return [...this.#kept].map(([id, { value }]) => [id, value])
  }

  /** False where there is no such id. */
  drop(id: string): boolean {
    this.#bytes -= this.#kept.get(id)?.bytes ?? 0
    return this.#kept.delete(id)
  }

  clear(): void {
    this.#kept.clear()
    this.#bytes = 0
    this.#made = 0
  }
}
