import { deflateRawSync, inflateRawSync } from 'node:zlib'

/** Bytes of a block of small events; a larger event has its own block. */
const BLOCK_BYTES = 16 * 1024
/** Approximate memory of an event beside its bytes. */
const EVENT_COST_BYTES = 8
/** Larger blocks are not compressed, which would block the event loop for several milliseconds. */
const MAX_PACKED_BYTES = 256 * 1024

interface Block {
  /** Compressed if the block is old; see {@link EventLog.trim}. */
  bytes: Buffer
  isPacked: boolean
  /** The number of its first event. */
  readonly first: number
  /** Where each event ends, in bytes. */
  readonly ends: number[]
}

/**
 * The newest events of a stream, numbered from 0, as their wire bytes; small ones share blocks. To save memory, old blocks
 * are compressed before any are dropped: events of text then take a tenth.
 */
export class EventLog {
  readonly #blocks: Block[] = []
  /** Blocks at the beginning that were handled by `pack`; it compresses those that get smaller. */
  #packed = 0
  /** The compressed block that was read last, decompressed. */
  #unpacked: { readonly block: Block; readonly bytes: Buffer } | undefined
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

  /** Approximate memory, bytes. */
  get size(): number {
    return this.#size + (this.#unpacked?.bytes.length ?? 0)
  }

  append(frame: string): void {
    const length = Buffer.byteLength(frame)
    let block = this.#blocks.at(-1)
    let start = block?.ends.at(-1) ?? 0
    if (block === undefined || start + length > block.bytes.length) {
      start = 0
      const bytes = Buffer.allocUnsafeSlow(Math.max(BLOCK_BYTES, length))
      block = { bytes, isPacked: false, first: this.#next, ends: [] }
      this.#blocks.push(block)
      this.#size += block.bytes.length
    }
    block.bytes.write(frame, start)
    block.ends.push(start + length)
    this.#size += EVENT_COST_BYTES
    this.#next++
  }

  /** The bytes of an event; undefined if it is still to come, or was dropped. */
  at(number: number): Buffer | undefined {
    if (number < this.first || number >= this.#next) return undefined
    let [low, high] = [0, this.#blocks.length - 1]
    while (low < high) {
      const middle = (low + high + 1) >> 1
      if ((this.#blocks[middle]?.first ?? 0) <= number) low = middle
      else high = middle - 1
    }
    const block = this.#blocks[low]
    if (block === undefined) return undefined
    const index = number - block.first
    return this.bytesOf(block).subarray(block.ends[index - 1] ?? 0, block.ends[index])
  }

  private bytesOf(block: Block): Buffer {
    if (!block.isPacked) return block.bytes
    if (this.#unpacked?.block !== block) this.#unpacked = { block, bytes: inflateRawSync(block.bytes) }
    return this.#unpacked.bytes
  }

  /**
   * Reduces the log to so many bytes: compresses all but the newest block, then drops the oldest ones, but none from event
   * `unread` on, and never the newest.
   */
  trim(bytes: number, unread: number): void {
    if (this.size > bytes) this.#unpacked = undefined
    while (this.#size > bytes && this.#packed < this.#blocks.length - 1) this.pack(this.#blocks[this.#packed++])
    let count = 0
    while (this.#size > bytes) {
      const [block, after] = [this.#blocks[count], this.#blocks[count + 1]]
      if (block === undefined || after === undefined || after.first > unread) break
      this.#size -= block.bytes.length + block.ends.length * EVENT_COST_BYTES
      count++
    }
    this.#blocks.splice(0, count)
    this.#packed -= count
  }

  /** Drops all events. */
  clear(): void {
    this.#blocks.length = 0
    this.#unpacked = undefined
    this.#packed = 0
    this.#size = 0
  }

  private pack(block: Block | undefined): void {
    if (block === undefined || block.bytes.length > MAX_PACKED_BYTES) return
    const packed = deflateRawSync(block.bytes.subarray(0, block.ends.at(-1)), { level: 1 })
    if (packed.length >= block.bytes.length) return
    this.#size -= block.bytes.length - packed.length
    // Copied, since the library returns the beginning of a larger buffer.
    block.bytes = Buffer.allocUnsafeSlow(packed.length)
    block.bytes.set(packed)
    block.isPacked = true
  }
}
