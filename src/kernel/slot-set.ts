/**
 * What is present at the moment, in no order. A set would do, but for its cost to the garbage collector: V8's hash tables
 * are made anew every few entries that come and go, and each old table holds on to the next one. Once one of them has
 * grown old, all that were ever in the later ones are kept until the next full collection.
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
