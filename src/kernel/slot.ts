/** State of a feature in a call: an index that is given out once per process. */
export interface Slot<T> {
  readonly index: number
  readonly name: string
  /** Only for the compiler. */
  readonly type?: (value: T) => T
}

let count = 0

export function slot<T>(name: string): Slot<T> {
  return { index: count++, name }
}

/** What features have noted. Costs an array once the first of them does. */
export class Slots {
  #values: unknown[] | undefined

  get<T>(slot: Slot<T>): T | undefined {
    return this.#values?.[slot.index] as T | undefined
  }

  set<T>(slot: Slot<T>, value: T | undefined): void {
    this.#values ??= []
    this.#values[slot.index] = value
  }
}
