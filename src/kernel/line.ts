/** Most empty places at the beginning. */
const MAX_EMPTY_PLACES = 1024

/** A FIFO queue. Not a `Set`, for the reason given at `SlotSet`, and not an array's `shift()`, which moves all other items. */
export class Line<Item> {
  /** The next item is at `#first`. */
  readonly #places: (Item | undefined)[] = []
  #first = 0

  get length(): number {
    return this.#places.length - this.#first
  }

  push(item: Item): void {
    this.#places.push(item)
  }

  /** Removes the first item; undefined if there is none. */
  shift(): Item | undefined {
    const item = this.#places[this.#first]
    if (item === undefined) return undefined
    this.#places[this.#first++] = undefined
    if (this.#first === this.#places.length || this.#first === MAX_EMPTY_PLACES) {
      this.#places.splice(0, this.#first)
      this.#first = 0
    }
    return item
  }
}
