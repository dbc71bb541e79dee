import { CR, LF } from '../core/ascii.js'
import { next } from './bytes.js'

/** Finds lines in one chunk of text, ended by LF, CR or CRLF. It looks at each byte once for LF and once for CR. */
export class Lines {
  readonly #bytes: Buffer
  #lf = -1
  #cr = -1

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  /** End of the line that begins at `start`; the length of the chunk if the line does not end in it. */
  end(start: number): number {
    if (this.#lf < start) this.#lf = next(this.#bytes, LF, start)
    if (this.#cr < start) this.#cr = next(this.#bytes, CR, start)
    return this.#lf < this.#cr ? this.#lf : this.#cr
  }

  /** Start of the next line. The LF after a CR may still come with the next chunk. */
  after(end: number): number {
    return this.#bytes[end] === CR && this.#bytes[end + 1] === LF ? end + 2 : end + 1
  }
}
