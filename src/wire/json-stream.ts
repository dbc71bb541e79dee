import { BACKSLASH, CLOSE_BRACE, CLOSE_BRACKET, COMMA, CR, LF, OPEN_BRACE, OPEN_BRACKET, QUOTE } from '../core/ascii.js'
import { asBuffer } from './bytes.js'
import { PendingBytes } from './pending-bytes.js'
import { WireLimitError } from './sse-framer.js'

/** Max bytes of one document in a stream. */
export interface JsonStreamLimits {
  readonly event: number
}

/**
 * `start`: only white space so far; `lines`: documents follow each other; `array`: inside the one array; `closed`: after
 * it.
 */
type Place = 'start' | 'lines' | 'array' | 'closed'

/**
 * Where the current byte is: between documents; in an object or array; in a string inside one, or after a backslash there;
 * in a document that begins with neither brace nor bracket.
 */
type State = 'between' | 'nested' | 'string' | 'escape' | 'bare'

/**
 * Cuts a stream into JSON documents: newline-delimited (a document may span lines), or the elements of one array. The first
 * byte that is not white space decides which. Chunks may be cut anywhere; the time is linear. It finds only the ends of
 * documents: malformed ones are returned as they are, and parsing them reports the error.
 */
export class JsonStreamDecoder {
  readonly #limit: number
  /** The part of the current document in earlier chunks. */
  readonly #pending = new PendingBytes()
  #place: Place = 'start'
  #state: State = 'between'
  #depth = 0
  #over: WireLimitError | undefined

  constructor({ event }: JsonStreamLimits) {
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
    // Locals, and a loop per state, because every byte of the stream passes here.
    const isLines = this.#place === 'lines'
    const length = bytes.length
    let inString = this.#state !== 'nested'
    let depth = this.#depth
    let at = this.#state === 'escape' ? from + 1 : from
    while (at < length) {
      while (inString && at < length) {
        const byte = bytes[at++]
        if (byte === QUOTE) inString = false
        else if (byte === BACKSLASH) at++
        // A JSON string cannot span lines. Whatever this was, the next document may be valid.
        else if (byte === LF && isLines) return this.done(at - 1)
      }
      while (!inString && at < length) {
        const byte = bytes[at++]
        if (byte === QUOTE) inString = true
        else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) depth++
        else if ((byte === CLOSE_BRACE || byte === CLOSE_BRACKET) && --depth === 0) return this.done(at)
      }
    }
    // The character after a backslash may be in the next chunk.
    this.#state = !inString ? 'nested' : at > length ? 'escape' : 'string'
    this.#depth = depth
    return length
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
    this.#depth = 0
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
