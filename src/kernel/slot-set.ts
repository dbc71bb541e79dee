/**
 * An unordered set of the items that are present, each in a numbered slot. A `Set` would do, but for its cost to the
 * garbage collector: V8 replaces its hash table every few insertions and deletions, and each old table refers to the
 * next one. Once one table has reached the old generation, all items of the later ones stay alive until the next full
 * collection.
 */
export class SlotSet<Item extends object> {
  readonly #items: (Item | undefined)[] = []
  readonly #free: number[] = []

  get size(): number {
    return this.#items.length - this.#free.length
  }

  /** Adds an item and returns its slot. Delete the item by this slot, once. */
  add(item: Item): number {
    const place = this.#free.pop() ?? this.#items.length
    this.#items[place] = item
    return place
  }

  delete(place: number): void {
    this.#items[place] = undefined
    this.#free.push(place)
  }

  /** Calls back with each item. Items may be added and deleted meanwhile; added ones may be skipped. */
  visit(call: (item: Item) => void): void {
    for (let place = 0; place < this.#items.length; place++) {
      const item = this.#items[place]
      if (item !== undefined) call(item)
    }
  }
}
