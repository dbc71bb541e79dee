/** Elements in the order of their numbers, the smallest first. */
export class Heap<T> {
  readonly #elements: { readonly at: number; readonly value: T }[] = []

  get size(): number {
    return this.#elements.length
  }

  get first(): number | undefined {
    return this.#elements[0]?.at
  }

  add(at: number, value: T): void {
    const all = this.#elements
    const added = { at, value }
    let place = all.push(added) - 1
    while (place > 0) {
      const parent = (place - 1) >> 1
      const above = all[parent]
      if (above === undefined || above.at <= at) break
      all[place] = above
      place = parent
    }
    all[place] = added
  }

  take(): T | undefined {
    const all = this.#elements
    const [first] = all
    const last = all.pop()
    if (last !== undefined && all.length > 0) this.#sink(last)
    return first?.value
  }

  /** Puts an element instead of the first one, and down to where it belongs. */
  #sink(added: { readonly at: number; readonly value: T }): void {
    const all = this.#elements
    let place = 0
    for (;;) {
      const [left, right] = [all[2 * place + 1], all[2 * place + 2]]
      const isRight = left !== undefined && right !== undefined && right.at < left.at
      const below = isRight ? right : left
      if (below === undefined || below.at >= added.at) break
      all[place] = below
      place = 2 * place + (isRight ? 2 : 1)
    }
    all[place] = added
  }
}
