import { BACKSLASH, DIGIT_0, DIGIT_9, QUOTE, SPACE } from '../core/ascii.js'
import { next } from './bytes.js'

/** Bytes that end an escape at once: all but `u`. */
const SIMPLE_ESCAPES = new Uint8Array(256)
for (const byte of Buffer.from('"\\/bfnrt')) SIMPLE_ESCAPES[byte] = 1

/** Native search costs some 15 ns a call, wherever it ends, and another look for control characters: shorter runs are quicker by hand. */
const NEAR_BYTES = 128
/** Four bytes of 0x20, below which control characters are. */
const FOUR_SPACES = 0x20202020

/**
 * Finds the end of strings within one piece of JSON text. Near by it reads four bytes at a time; further off it leaves the
 * search to native code, which looks at each byte once for each of the two marks, however many strings there are, and looks
 * only for control characters by itself, sixteen bytes at a time.
 */
export class StringReader {
  readonly #bytes: Buffer
  readonly #view: DataView
  /** Where the last search began: what it found is the first only from there on. */
  #searched = 0
  #quote = -1
  #backslash = -1

  constructor(bytes: Buffer) {
    this.#bytes = bytes
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  }

  /**
   * Position of the first byte from `from` on that the grammar has to look at: the closing quote, the backslash of an
   * escape that is not a simple whole one, or a control character. The length of the piece where there is none.
   */
  skip(from: number): number {
    const bytes = this.#bytes
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

  /** Position of the first quote, backslash or control character before `end`; `end` where there is none. */
  private skipPlain(from: number, end: number): number {
    const view = this.#view
    let at = from
    // The top bit of each byte is set where it is below a number (Bit Twiddling Hacks, "hasless"): b ^ 0x02 is below 0x21
    // for control characters and the quote alone, b ^ 0x5c below 1 for the backslash. A borrow may set it for a plain byte
    // above a hit, too, but never below the first.
    for (; at + 4 <= end; at += 4) {
      const word = view.getInt32(at, true)
      const flipped = word ^ 0x02020202
      const backslash = word ^ 0x5c5c5c5c
      const hits = (((flipped - 0x21212121) & ~flipped) | ((backslash - 0x01010101) & ~backslash)) & 0x80808080
      if (hits !== 0) return at + ((31 - Math.clz32(hits & -hits)) >> 3)
    }
    const bytes = this.#bytes
    for (; at < end; at++) {
      const byte = bytes[at] ?? 0
      if (byte < SPACE || byte === QUOTE || byte === BACKSLASH) break
    }
    return at
  }

  /** Position of the first control character before `end`; `end` where there is none. */
  private firstControl(from: number, end: number): number {
    const view = this.#view
    let at = from
    for (; at + 16 <= end; at += 16) {
      const a = view.getInt32(at, true)
      const b = view.getInt32(at + 4, true)
      const c = view.getInt32(at + 8, true)
      const d = view.getInt32(at + 12, true)
      // "hasless" again, of four words at once: which byte it was is looked up below.
      const low =
        ((a - FOUR_SPACES) & ~a) | ((b - FOUR_SPACES) & ~b) | ((c - FOUR_SPACES) & ~c) | ((d - FOUR_SPACES) & ~d)
      if ((low & 0x80808080) !== 0) break
    }
    const bytes = this.#bytes
    while (at < end && (bytes[at] ?? 0) >= SPACE) at++
    return at
  }

  /** Position of the first quote or backslash from `from` on; the length of the piece where there is none. */
  private search(from: number): number {
    // Whoever goes back, as a cursor does that enters an object it has passed over, may be before what was found.
    const back = from < this.#searched
    this.#searched = from
    if (back || this.#quote < from) this.#quote = next(this.#bytes, QUOTE, from)
    if (back || this.#backslash < from) this.#backslash = next(this.#bytes, BACKSLASH, from)
    return Math.min(this.#quote, this.#backslash)
  }
}

/** Position of the first byte from `from` on that is no digit; the length of the piece where there is none. */
export function skipDigits(bytes: Buffer, from: number): number {
  let at = from
  for (; at < bytes.length; at++) {
    const byte = bytes[at] ?? 0
    if (byte < DIGIT_0 || byte > DIGIT_9) break
  }
  return at
}
