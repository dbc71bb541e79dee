import { LF, SPACE } from '../core/ascii.js'

/** Counts the lines of a text that are not empty, in chunks of any size. */
export class LineCount {
  #full = 0
  /** Whether the last line so far has anything but white space. */
  #hasText = false

  get lines(): number {
    return this.#full + (this.#hasText ? 1 : 0)
  }

  push(bytes: Buffer): void {
    for (let from = 0; from < bytes.length; ) {
      const end = bytes.indexOf(LF, from)
      const line = end < 0 ? bytes.length : end
      for (let at = from; at < line && !this.#hasText; at++) this.#hasText = (bytes[at] ?? 0) > SPACE
      if (end < 0) return
      if (this.#hasText) this.#full++
      this.#hasText = false
      from = end + 1
    }
  }
}
