import { BACKSLASH, CLOSE_BRACE, CLOSE_BRACKET, OPEN_BRACE, OPEN_BRACKET, QUOTE } from '../core/ascii.js'
import { next } from './bytes.js'

/** Bytes scanned by hand before the rest is searched: a native search costs about 15 ns. */
const NEAR_BYTES = 48

/** The bytes that matter in skipped containers: they open or close a container, or open a string. */
const MARKS = [QUOTE, OPEN_BRACKET, CLOSE_BRACKET, OPEN_BRACE, CLOSE_BRACE] as const
const IS_MARK = new Uint8Array(256)
for (const mark of MARKS) IS_MARK[mark] = 1

/**
 * Follows JSON text as it passes, in chunks of any size, by its strings, brackets, colons and commas alone: it checks no
 * grammar, so it reads all that the most lenient parser reads, for a fraction of the time. A subclass says which containers
 * to skip: of those only the end is searched, natively where it is far.
 */
export abstract class JsonOutline {
  #inString = false
  /** Whether the chunk ended behind a backslash in a string. */
  #escaped = false
  /** Open containers that are skipped, inside the last one that is not. */
  protected skipped = 0
  /** Ends the current call of `walk`. */
  protected stopped = false

  /** A byte outside strings and skipped containers; a quote opens a string. */
  protected abstract mark(byte: number, bytes: Buffer, at: number): void

  /** A string outside skipped containers has ended at `close`; `from` is where it begins in these bytes. */
  protected abstract endString(bytes: Buffer, from: number, close: number): void

  /** A string outside skipped containers continues in the next chunk. */
  protected abstract holdString(bytes: Buffer, from: number): void

  /** The outermost skipped container has ended with the byte at `at`. */
  protected abstract leave(bytes: Buffer, at: number): void

  /** Begins another document. */
  protected restart(): void {
    this.#inString = false
    this.#escaped = false
    this.skipped = 0
    this.stopped = false
  }

  /** Reads all of `bytes` from `start` on, or up to where a subclass stops it; returns how far it came. */
  protected walk(bytes: Buffer, start: number): number {
    const end = bytes.length
    let marks: Marks | undefined
    let at = start
    while (at < end && !this.stopped) {
      if (this.#inString) at = this.passString(bytes, at)
      else if (this.skipped > 0) {
        marks ??= new Marks(bytes)
        at = marks.next(at)
        if (at < end) this.passMark(bytes, at++)
      } else {
        const byte = bytes[at] ?? 0
        if (byte === QUOTE) this.#inString = true
        this.mark(byte, bytes, at++)
      }
    }
    return at
  }

  /** Reads on through a string: past its quote, or to the end of the chunk. */
  private passString(bytes: Buffer, from: number): number {
    const close = this.closing(bytes, from)
    if (close === bytes.length) {
      if (this.skipped === 0) this.holdString(bytes, from)
      return close
    }
    this.#inString = false
    if (this.skipped === 0) this.endString(bytes, from, close)
    return close + 1
  }

  private passMark(bytes: Buffer, at: number): void {
    const byte = bytes[at]
    if (byte === QUOTE) this.#inString = true
    else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) this.skipped++
    else if (--this.skipped === 0) this.leave(bytes, at)
  }

  /** Position of the quote that ends the current string, or the length of the chunk. */
  protected closing(bytes: Buffer, from: number): number {
    let at = from
    if (this.#escaped) {
      this.#escaped = false
      at++
    }
    const near = Math.min(bytes.length, at + NEAR_BYTES)
    while (at < near) {
      const byte = bytes[at]
      if (byte === QUOTE) return at
      at += byte === BACKSLASH ? 2 : 1
    }
    if (at >= bytes.length) {
      this.#escaped = at > bytes.length
      return bytes.length
    }
    for (;;) {
      const close = next(bytes, QUOTE, at)
      let slashes = 0
      while (close - slashes > at && bytes[close - slashes - 1] === BACKSLASH) slashes++
      const isEscape = slashes % 2 === 1
      if (close < bytes.length && isEscape) {
        at = close + 1
        continue
      }
      this.#escaped = close === bytes.length && isEscape
      return close
    }
  }
}

/** Finds the next mark in one chunk. For distant marks it uses native search, which looks at each byte once per mark. */
class Marks {
  readonly #bytes: Buffer
  readonly #found = [-1, -1, -1, -1, -1]

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  /** Position of the first mark at or after `from`; the length of the chunk if there is none. */
  next(from: number): number {
    const bytes = this.#bytes
    const near = Math.min(bytes.length, from + NEAR_BYTES)
    for (let at = from; at < near; at++) if (IS_MARK[bytes[at] ?? 0] === 1) return at
    if (near === bytes.length) return near
    let first = bytes.length
    for (let index = 0; index < MARKS.length; index++) {
      let found = this.#found[index] ?? 0
      if (found < near) {
        found = next(bytes, MARKS[index] ?? 0, near)
        this.#found[index] = found
      }
      if (found < first) first = found
    }
    return first
  }
}
