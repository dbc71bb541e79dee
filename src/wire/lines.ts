import { CR, LF } from '../core/ascii.js'
import { next } from './bytes.js'

/** Finds the lines of one piece of text, ended by LF, CR or CRLF. It looks at each byte once for each of the two. */
export class Lines {
  readonly #bytes: Buffer
  #lf = -1
  #cr = -1

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  /** Where the line that begins at `start` ends; the length of the piece where it does not end in it. */
  end(start: number): number {
    if (this.#lf < start) this.#lf = next(this.#bytes, LF, start)
    if (this.#cr < start) this.#cr = next(this.#bytes, CR, start)
    return this.#lf < this.#cr ? this.#lf : this.#cr
  }

  /** Where the next line begins. An LF behind a CR may still come with the next piece. */
  after(end: number): number {
    return this.#bytes[end] === CR && this.#bytes[end + 1] === LF ? end + 2 : end + 1
  }
}
