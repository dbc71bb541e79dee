/** The name under which a feature keeps a value in a call. */
export interface Slot<T> {
  readonly name: string
  /** Only for type checks. */
  readonly type?: (value: T) => T
}

export function slot<T>(name: string): Slot<T> {
  return { name }
}

/** The value of one slot, and those that were set before it. */
interface Kept {
  readonly slot: object
  value: unknown
  readonly before: Kept | undefined
}

/** Values of slots. A call sets few of all that there are: a list of those is smaller than an array with a place for each. */
export class Slots {
  #last: Kept | undefined

  get<T>(slot: Slot<T>): T | undefined {
    return this.#find(slot)?.value as T | undefined
  }

  set<T>(slot: Slot<T>, value: T | undefined): void {
    const kept = this.#find(slot)
    if (kept !== undefined) kept.value = value
    else if (value !== undefined) this.#last = { slot, value, before: this.#last }
  }

  #find(slot: object): Kept | undefined {
    let kept = this.#last
    while (kept !== undefined && kept.slot !== slot) kept = kept.before
    return kept
  }
}
