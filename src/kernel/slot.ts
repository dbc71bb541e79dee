/** A feature's state in a call: an index that is assigned once per process. */
export interface Slot<T> {
  readonly index: number
  readonly name: string
  /** Only for type checks. */
  readonly type?: (value: T) => T
}

let count = 0

export function slot<T>(name: string): Slot<T> {
  return { index: count++, name }
}

/** Values of slots. The array is created by the first value. */
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
