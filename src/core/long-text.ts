/** Where text goes that is too long to wait in memory for the end of its answer. */
export interface Overflow {
  /** Takes bytes and returns their place; undefined if there is no room for them now. */
  write(bytes: Buffer): number | undefined
  read(at: number, length: number): Buffer
}

/** Characters, and deltas, that wait to be packed: until then they are a plain string, which most answers stay. */
const RECENT_CHARS = 4 * 1024
const RECENT_DELTAS = 64
/** Bytes of one text that wait in memory to be written to the overflow together. */
const BLOCK_BYTES = 32 * 1024

/** Full blocks of bytes, in memory or in the overflow. A character has one byte, or two. */
interface Block {
  readonly isWide: boolean
  readonly length: number
  readonly bytes: Buffer | undefined
  readonly at: number
}

/**
 * Text that comes in many small pieces and is needed at its end. It takes a byte for each character (two where it is not
 * Latin-1), and not a string for each piece; what is longer than 64 KiB goes to the overflow, where there is one.
 */
export class LongText {
  readonly #overflow: Overflow | undefined
  #recent = ''
  #deltas = 0
  #length = 0
  #room: Buffer | undefined
  #used = 0
  #isWide = false
  readonly #blocks: Block[] = []

  constructor(overflow?: Overflow) {
    this.#overflow = overflow
  }

  /** In characters (UTF-16 code units). */
  get length(): number {
    return this.#length
  }

  append(text: string): void {
    this.#recent += text
    this.#length += text.length
    if (++this.#deltas >= RECENT_DELTAS || this.#recent.length >= RECENT_CHARS) this.pack()
  }

  /** The characters from `start` up to `end`, as `String.prototype.slice` counts from 0 on. */
  slice(start: number, end: number): string {
    let text = ''
    let from = 0
    for (const { isWide, length, bytes, at } of this.blocks()) {
      const to = from + (isWide ? length / 2 : length)
      if (to > start && from < end) {
        const part = bytes ?? this.#overflow?.read(at, length) ?? Buffer.alloc(0)
        text += part.toString(isWide ? 'utf16le' : 'latin1').slice(Math.max(0, start - from), end - from)
      }
      from = to
    }
    return text + this.#recent.slice(Math.max(0, start - from), Math.max(0, end - from))
  }

  toString(): string {
    return this.#length === this.#recent.length ? this.#recent : this.slice(0, this.#length)
  }

  private *blocks(): Generator<Block> {
    yield* this.#blocks
    if (this.#room !== undefined)
      yield { isWide: this.#isWide, length: this.#used, bytes: this.#room.subarray(0, this.#used), at: 0 }
  }

  private pack(): void {
    const text = this.#recent
    this.#recent = ''
    this.#deltas = 0
    // Once wide, always wide: blocks that are not full stay in memory.
    if (!this.#isWide && BEYOND_LATIN1.test(text)) {
      this.close()
      this.#isWide = true
    }
    const perChar = this.#isWide ? 2 : 1
    for (let at = 0; at < text.length; ) {
      this.grow((text.length - at) * perChar)
      const room = this.#room ?? Buffer.alloc(0)
      const end = at + Math.floor((room.length - this.#used) / perChar)
      this.#used += room.write(text.slice(at, end), this.#used, this.#isWide ? 'utf16le' : 'latin1')
      at = end
      if (this.#used === BLOCK_BYTES) this.close()
    }
  }

  /** Makes room for so many bytes, up to one block. */
  private grow(bytes: number): void {
    const wanted = Math.min(BLOCK_BYTES, this.#used + bytes)
    if (this.#room !== undefined && this.#room.length >= wanted) return
    const room = Buffer.allocUnsafeSlow(Math.min(BLOCK_BYTES, Math.max(wanted, 2 * this.#used)))
    this.#room?.copy(room, 0, 0, this.#used)
    this.#room = room
  }

  /** The bytes at hand become a block. */
  private close(): void {
    if (this.#room === undefined || this.#used === 0) return
    const bytes = this.#room.subarray(0, this.#used)
    const at = this.#used === BLOCK_BYTES ? this.#overflow?.write(bytes) : undefined
    this.#blocks.push({
      isWide: this.#isWide,
      length: this.#used,
      bytes: at === undefined ? bytes : undefined,
      at: at ?? 0,
    })
    this.#used = 0
    if (at === undefined) this.#room = undefined
  }
}

const BEYOND_LATIN1 = /[\u0100-\uffff]/
