import type { Range } from '../core/store.js'

/** Where a record stands in the list of its owner. */
export interface Position {
  readonly created: number
  readonly key: string
}

/** Positions in order. New ones come at the end nearly always, so adding costs next to nothing. */
export class Shelf {
  readonly #positions: Position[] = []

  get size(): number {
    return this.#positions.length
  }

  add(position: Position): void {
    this.#positions.splice(this.indexOf(position), 0, position)
  }

  remove(position: Position): void {
    const index = this.indexOf(position)
    const found = this.#positions[index]
    if (found !== undefined && compare(found, position) === 0) this.#positions.splice(index, 1)
  }

  /** The positions of a range, without end: whoever reads them takes as many as it needs. */
  *walk({ order, after }: Pick<Range, 'order' | 'after'>): Generator<Position> {
    const step = order === 'ascending' ? 1 : -1
    for (let index = this.start(step, after); ; index += step) {
      const position = this.#positions[index]
      if (position === undefined) return
      yield position
    }
  }

  private start(step: 1 | -1, after: Position | undefined): number {
    if (after === undefined) return step === 1 ? 0 : this.#positions.length - 1
    const index = this.indexOf(after)
    const found = this.#positions[index]
    const stands = found !== undefined && compare(found, after) === 0
    return step === 1 ? index + (stands ? 1 : 0) : index - 1
  }

  /** The index of the first position that is not before this one. */
  private indexOf(position: Position): number {
    let low = 0
    let high = this.#positions.length
    while (low < high) {
      const middle = (low + high) >>> 1
      const found = this.#positions[middle]
      if (found !== undefined && compare(found, position) < 0) low = middle + 1
      else high = middle
    }
    return low
  }
}

function compare(a: Position, b: Position): number {
  if (a.created !== b.created) return a.created - b.created
  return a.key < b.key ? -1 : a.key > b.key ? 1 : 0
}
