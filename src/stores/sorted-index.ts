import type { Range } from '../core/store.js'

/** A record's position in the list of its owner. */
export interface Position {
  readonly created: number
  readonly key: string
}

/** Maximum positions per chunk: moving so many is cheap, and a hundred thousand make few chunks. */
const MAX_CHUNK_POSITIONS = 512

/** Sorted positions in chunks, so that adding and removing stay cheap however many there are. */
export class SortedIndex {
  /** None of them is empty. */
  readonly #chunks: Position[][] = []
  readonly #maxChunk: number
  #size = 0

  constructor(maxChunk = MAX_CHUNK_POSITIONS) {
    this.#maxChunk = maxChunk
  }

  get size(): number {
    return this.#size
  }

  add(position: Position): void {
    this.#size++
    const number = this.chunkOf(position)
    const piece = this.#chunks[number] ?? this.#chunks.at(-1)
    // New positions are nearly always added at the end: a full last chunk stays full.
    if (piece === undefined || (number === this.#chunks.length && piece.length === this.#maxChunk)) {
      this.#chunks.push([position])
      return
    }
    piece.splice(indexOf(piece, position), 0, position)
    if (piece.length > this.#maxChunk) this.#chunks.splice(number + 1, 0, piece.splice(this.#maxChunk >> 1))
  }

  remove(position: Position): void {
    const number = this.chunkOf(position)
    const piece = this.#chunks[number]
    if (piece === undefined) return
    const index = indexOf(piece, position)
    const found = piece[index]
    if (found === undefined || compare(found, position) !== 0) return
    piece.splice(index, 1)
    this.#size--
    if (piece.length === 0) this.#chunks.splice(number, 1)
  }

  /** The positions of a range, without a limit: the reader takes as many as it needs. */
  walk({ order, after }: Pick<Range, 'order' | 'after'>): Generator<Position> {
    return order === 'ascending' ? this.ascend(after) : this.descend(after)
  }

  private *ascend(after: Position | undefined): Generator<Position> {
    const first = after === undefined ? 0 : this.chunkOf(after)
    for (let number = first; ; number++) {
      const piece = this.#chunks[number]
      if (piece === undefined) return
      const start = after === undefined || number > first ? 0 : indexOf(piece, after)
      for (const position of start === 0 ? piece : piece.slice(start)) {
        if (after === undefined || compare(position, after) !== 0) yield position
      }
    }
  }

  private *descend(after: Position | undefined): Generator<Position> {
    const last = this.#chunks.length - 1
    const first = after === undefined ? last : Math.min(this.chunkOf(after), last)
    for (let number = first; ; number--) {
      const piece = this.#chunks[number]
      if (piece === undefined) return
      const end = after === undefined || number < first ? piece.length : indexOf(piece, after)
      yield* piece.slice(0, end).reverse()
    }
  }

  /** The number of the first chunk that does not end before this position; the count of chunks if all do. */
  private chunkOf(position: Position): number {
    return search(this.#chunks.length, number => {
      const last = this.#chunks[number]?.at(-1)
      return last !== undefined && compare(last, position) < 0
    })
  }
}

/** The index of the first position that is not before this one. */
function indexOf(piece: readonly Position[], position: Position): number {
  return search(piece.length, index => {
    const found = piece[index]
    return found !== undefined && compare(found, position) < 0
  })
}

/** The first index for which `isBefore` is false; it is true for all indexes before that, and false from there on. */
function search(length: number, isBefore: (index: number) => boolean): number {
  let low = 0
  let high = length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (isBefore(middle)) low = middle + 1
    else high = middle
  }
  return low
}

function compare(a: Position, b: Position): number {
  if (a.created !== b.created) return a.created - b.created
  return a.key < b.key ? -1 : a.key > b.key ? 1 : 0
}
