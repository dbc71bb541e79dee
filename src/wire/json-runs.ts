import { BACKSLASH, DIGIT_0, DIGIT_9, QUOTE, SPACE } from '../core/ascii.js'
import { next } from './bytes.js'

/** Characters that complete an escape of two bytes: all except `u`. */
const SIMPLE_ESCAPES = new Uint8Array(256)
for (const byte of Buffer.from('"\\/bfnrt')) SIMPLE_ESCAPES[byte] = 1

/**
 * Max distance, in bytes, to scan by hand. A native search costs about 15 ns per call, plus a second scan for control
 * characters.
 */
const NEAR_BYTES = 128
/** Four bytes of 0x20; control characters are below it. */
const FOUR_SPACES = 0x20202020

/**
 * Finds the ends of strings within one chunk of JSON text. Near the start it reads four bytes at a time. Farther on it uses
 * native search, which looks at each byte once per mark however many strings there are, and scans for control characters
 * sixteen bytes at a time.
 */
export class StringReader {
  readonly bytes: Buffer
  readonly #view: DataView
  /** Start of the last search: its result is the first match only from there on. */
  #searched = 0
  #quote = -1
  #backslash = -1

  constructor(bytes: Buffer) {
    this.bytes = bytes
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  }

  /**
   * Position of the first byte at or after `from` that the grammar must see: the closing quote, the backslash of an escape
   * that is not complete and simple, or a control character. The length of the chunk if there is none.
   */
  skip(from: number): number {
    const bytes = this.bytes
    const length = bytes.length
    for (let at = from; ; ) {
      const near = Math.min(length, at + NEAR_BYTES)
      at = this.skipPlain(at, near)
      if (at === near) at = this.firstControl(at, this.search(at))
      if (at >= length) return length
      if (bytes[at] !== BACKSLASH || SIMPLE_ESCAPES[bytes[at + 1] ?? 0] !== 1) return at
      at += 2
    }
  }

  /** Position of the first quote, backslash or control character before `end`; `end` if there is none. */
  private skipPlain(from: number, end: number): number {
    const view = this.#view
    let at = from
    // The top bit of each byte is set if the byte is below a number (Bit Twiddling Hacks, "hasless"): b ^ 0x02 is below
    // 0x21 only for control characters and the quote, b ^ 0x5c is below 1 only for the backslash. A borrow may also set it
    // for a plain byte above a hit, but never below the first hit.
    for (; at + 4 <= end; at += 4) {
      const word = view.getInt32(at, true)
      const flipped = word ^ 0x02020202
      const backslash = word ^ 0x5c5c5c5c
      const hits = (((flipped - 0x21212121) & ~flipped) | ((backslash - 0x01010101) & ~backslash)) & 0x80808080
      if (hits !== 0) return at + ((31 - Math.clz32(hits & -hits)) >> 3)
    }
    const bytes = this.bytes
    for (; at < end; at++) {
      const byte = bytes[at] ?? 0
      if (byte < SPACE || byte === QUOTE || byte === BACKSLASH) break
    }
    return at
  }

  /** Position of the first control character before `end`; `end` if there is none. */
  private firstControl(from: number, end: number): number {
    const view = this.#view
    let at = from
    for (; at + 16 <= end; at += 16) {
      const a = view.getInt32(at, true)
      const b = view.getInt32(at + 4, true)
      const c = view.getInt32(at + 8, true)
      const d = view.getInt32(at + 12, true)
      // "hasless" again, on four words at once; the loop below finds which byte it was.
      const low =
        ((a - FOUR_SPACES) & ~a) | ((b - FOUR_SPACES) & ~b) | ((c - FOUR_SPACES) & ~c) | ((d - FOUR_SPACES) & ~d)
      if ((low & 0x80808080) !== 0) break
    }
    const bytes = this.bytes
    while (at < end && (bytes[at] ?? 0) >= SPACE) at++
    return at
  }

  /** Position of the first quote or backslash at or after `from`; the length of the chunk if there is none. */
  private search(from: number): number {
    // A caller that goes back, as a cursor does to enter an object it has skipped, may be before the last result.
    const back = from < this.#searched
    this.#searched = from
    if (back || this.#quote < from) this.#quote = next(this.bytes, QUOTE, from)
    if (back || this.#backslash < from) this.#backslash = next(this.bytes, BACKSLASH, from)
    return Math.min(this.#quote, this.#backslash)
  }
}

/** Position of the first non-digit at or after `from`; the length of the chunk if there is none. */
export function skipDigits(bytes: Buffer, from: number): number {
  let at = from
  for (; at < bytes.length; at++) {
    const byte = bytes[at] ?? 0
    if (byte < DIGIT_0 || byte > DIGIT_9) break
  }
  return at
}
