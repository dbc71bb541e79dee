import { CLOSE_BRACKET, COMMA, CR, LF, OPEN_BRACE, OPEN_BRACKET } from '../core/ascii.js'
import { asBuffer, next } from './bytes.js'
import { JsonOutline } from './json-outline.js'
import { PendingBytes } from './pending-bytes.js'
import { WireLimitError } from './sse-framer.js'

/** Max bytes of one document in a stream. */
interface JsonStreamLimits {
  readonly event: number
}

/**
 * `start`: only white space so far; `lines`: documents follow each other; `array`: inside the one array; `closed`: after
 * it.
 */
type Place = 'start' | 'lines' | 'array' | 'closed'

/** Where the current byte is: between documents; in an object or array; in a document that begins with neither bracket. */
type State = 'between' | 'nested' | 'bare'

/**
 * Cuts a stream into JSON documents: newline-delimited (a document may span lines), or the elements of one array. The first
 * byte that is not white space decides which. Chunks may be cut anywhere; the time is linear. It finds only the ends of
 * documents: malformed ones are returned as they are, and parsing them reports the error.
 */
export class JsonStreamDecoder extends JsonOutline {
  readonly #limit: number
  /** The part of the current document in earlier chunks. */
  readonly #pending = new PendingBytes()
  #place: Place = 'start'
  #state: State = 'between'
  /** The first LF that is not before the current string, and whether such a one has cut that off. */
  #lf = -1
  #isBroken = false
  #over: WireLimitError | undefined

  constructor({ event }: JsonStreamLimits) {
    super()
    this.#limit = event
  }

  /**
   * Returns the texts of the documents that this chunk completes. Throws `WireLimitError` if one is too long; if the chunk
   * has whole documents before that one, it returns them, and the next call throws.
   */
  push(chunk: Uint8Array): readonly string[] {
    if (this.#over !== undefined) throw this.#over
    const bytes = asBuffer(chunk)
    const documents: string[] = []
    this.#lf = -1
    let at = 0
    while (at < bytes.length) {
      if (this.#state === 'between') {
        at = this.begin(bytes, at)
        if (at === bytes.length) break
      }
      const end = this.scan(bytes, at)
      if (this.#pending.length + end - at > this.#limit) return this.overrun(documents)
      if (this.#state !== 'between') {
        this.#pending.append(bytes.subarray(at, end))
        break
      }
      documents.push(this.text(bytes, at, end))
      at = end
    }
    return documents
  }

  /** Ends the stream; `cut` if that is inside a document or the array. */
  end(): 'whole' | 'cut' {
    if (this.#over !== undefined) throw this.#over
    return this.#state === 'between' && this.#place !== 'array' ? 'whole' : 'cut'
  }

  /** Skips to the first byte of the next document. */
  private begin(bytes: Buffer, from: number): number {
    for (let at = from; at < bytes.length; at++) {
      const byte = bytes[at] ?? 0
      if (byte <= 0x20) continue
      if (this.#place === 'start') {
        if (byte === 0xef || byte === 0xbb || byte === 0xbf) continue // a byte order mark
        this.#place = byte === OPEN_BRACKET ? 'array' : 'lines'
        if (byte === OPEN_BRACKET) continue
      } else if (this.#place === 'array') {
        if (byte === COMMA) continue
        if (byte === CLOSE_BRACKET) {
          this.#place = 'closed'
          continue
        }
      }
      this.#state = byte === OPEN_BRACE || byte === OPEN_BRACKET ? 'nested' : 'bare'
      return at
    }
    return bytes.length
  }

  /** Reads on to the end of the current document, or of the chunk. */
  private scan(bytes: Buffer, from: number): number {
    return this.#state === 'bare' ? this.scanBare(bytes, from) : this.scanNested(bytes, from)
  }

  private scanNested(bytes: Buffer, from: number): number {
    this.stopped = false
    const end = this.walk(bytes, from)
    if (!this.stopped) return end
    const isBroken = this.#isBroken
    this.#isBroken = false
    return this.done(isBroken ? end - 1 : end)
  }

  /** The document begins: all of it is skipped. */
  protected mark(): void {
    this.skipped = 1
  }

  /** It has ended. */
  protected leave(): void {
    this.stopped = true
  }

  protected endString(): void {}
  protected holdString(): void {}

  /** A JSON string cannot span lines. The next document may still be valid. */
  protected override closing(bytes: Buffer, from: number): number {
    const close = super.closing(bytes, from)
    if (this.#place !== 'lines') return close
    if (this.#lf < from) this.#lf = next(bytes, LF, from)
    if (this.#lf >= close) return close
    this.restart()
    this.#isBroken = true
    this.stopped = true
    return this.#lf
  }

  /** A number, a literal, or invalid text: it ends with its line or, in the array, with the element. */
  private scanBare(bytes: Buffer, from: number): number {
    for (let at = from; at < bytes.length; at++) {
      const byte = bytes[at]
      if (byte === LF || byte === CR) return this.done(at)
      if (this.#place === 'array' && (byte === COMMA || byte === CLOSE_BRACKET)) return this.done(at)
    }
    return bytes.length
  }

  private done(end: number): number {
    this.#state = 'between'
    return end
  }

  private text(bytes: Buffer, start: number, end: number): string {
    if (this.#pending.length === 0) return bytes.toString('utf8', start, end)
    this.#pending.append(bytes.subarray(start, end))
    return this.#pending.take().toString('utf8')
  }

  private overrun(documents: readonly string[]): readonly string[] {
    this.#pending.take()
    this.#over = new WireLimitError('event')
    if (documents.length === 0) throw this.#over
    return documents
  }
}
