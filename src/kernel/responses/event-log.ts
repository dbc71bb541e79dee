/** Bytes of a block of small events; a larger event has one of its own. */
const BLOCK_BYTES = 16 * 1024
/** What an event takes besides its bytes, about. */
const EVENT_COST_BYTES = 8

interface Block {
  readonly bytes: Buffer
  /** The number of its first event. */
  readonly first: number
  /** Where each event ends. */
  readonly ends: number[]
}

/** The newest events of a stream, numbered from 0 on, as the bytes that they are sent as: small ones stand together. */
export class EventLog {
  readonly #blocks: Block[] = []
  #next = 0
  #size = 0

  /** The number of the next event. */
  get next(): number {
    return this.#next
  }

  /** The number of the oldest event that is kept. */
  get first(): number {
    return this.#blocks[0]?.first ?? this.#next
  }

  /** Bytes of memory, about. */
  get size(): number {
    return this.#size
  }

  append(frame: string): void {
    const length = Buffer.byteLength(frame)
    let block = this.#blocks.at(-1)
    let start = block?.ends.at(-1) ?? 0
    if (block === undefined || start + length > block.bytes.length) {
      start = 0
      block = { bytes: Buffer.allocUnsafeSlow(Math.max(BLOCK_BYTES, length)), first: this.#next, ends: [] }
      this.#blocks.push(block)
      this.#size += block.bytes.length
    }
    block.bytes.write(frame, start)
    block.ends.push(start + length)
    this.#size += EVENT_COST_BYTES
    this.#next++
  }

  /** The bytes of an event; undefined where it has yet to come, or is let go of. */
  at(number: number): Buffer | undefined {
    if (number < this.first || number >= this.#next) return undefined
    let [low, high] = [0, this.#blocks.length - 1]
    while (low < high) {
      const middle = (low + high + 1) >> 1
      if ((this.#blocks[middle]?.first ?? 0) <= number) low = middle
      else high = middle - 1
    }
    const block = this.#blocks[low]
    const index = number - (block?.first ?? 0)
    return block?.bytes.subarray(block.ends[index - 1] ?? 0, block.ends[index])
  }

  /** Lets go of the oldest down to so many bytes, but of none from `unread` on, and never of the newest. */
  trim(bytes: number, unread: number): void {
    let count = 0
    while (this.#size > bytes) {
      const [block, after] = [this.#blocks[count], this.#blocks[count + 1]]
      if (block === undefined || after === undefined || after.first > unread) break
      this.#size -= block.bytes.length + block.ends.length * EVENT_COST_BYTES
      count++
    }
    this.#blocks.splice(0, count)
  }
}
