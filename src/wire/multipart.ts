import { CR, HYPHEN, LF, SPACE, TAB } from '../core/ascii.js'
import { asBuffer, isAt, next } from './bytes.js'
import { type PartHead, parseHead } from './multipart-head.js'
import { MultipartError, type MultipartLimits } from './multipart-problems.js'
import { PendingBytes } from './pending-bytes.js'

/**
 * The elements of a multipart body, in order. `bytes` are their bytes in the body: concatenated they are the body, byte for
 * byte. How many `data` events one content takes depends on how the body was cut.
 */
export type MultipartEvent =
  | { readonly type: 'preamble' | 'data' | 'epilogue'; readonly bytes: Buffer }
  /** A part begins: its boundary line and head. `start` is the absolute offset of its content. */
  | { readonly type: 'part'; readonly head: PartHead; readonly start: number; readonly bytes: Buffer }
  /** The content of the part is complete; `end` is the absolute offset after it. */
  | { readonly type: 'part-end'; readonly end: number; readonly bytes: Buffer }
  /** The closing boundary line. */
  | { readonly type: 'close'; readonly bytes: Buffer }

/** Text up to a boundary (in the epilogue no boundary may follow), the boundary's line, and the head after it. */
type State =
  | 'preamble'
  | 'content'
  | 'epilogue'
  /** Directly after the boundary; in the padding after it; after the CR of its line. */
  | 'boundary'
  | 'padding'
  | 'line-end'
  /** After the first dash of a closing boundary; after the second and its padding; after the CR of its line. */
  | 'dash'
  | 'closing'
  | 'closing-end'
  | 'head'

/** What precedes a possible boundary, and how many CRLF bytes of the pattern that replaces. */
const BEFORE = { crlf: 0, lf: 1, start: 2, head: 2 } as const

const NOTHING = Buffer.alloc(0)

/**
 * Reads a multipart body (RFC 2046 §5.1, RFC 7578) in chunks of any size, in linear time. Of the contents it buffers only
 * what may become a boundary. It refuses what readers are known to read differently, so that no upstream can find a part
 * that was not seen here: boundaries after a lone LF, directly after a head, after the closing one, or with more text on
 * their line.
 */
export class MultipartReader {
  readonly #limits: MultipartLimits
  /** CRLF, two dashes, the boundary. CR and LF occur once each, so a failed match cannot hide another one. */
  readonly #pattern: Buffer
  /** The same without its CR. */
  readonly #needle: Buffer
  #state: State = 'preamble'
  /** How much of the pattern the last bytes matched. Initially as if a CRLF preceded the body. */
  #matched = 2
  #before: keyof typeof BEFORE = 'start'
  /** The boundary line and head so far. */
  readonly #pending = new PendingBytes()
  /** Length of the boundary line in `#pending`, and of the head's current line. */
  #boundaryLine = 0
  #line = 0
  #last = 0
  #parts = 0
  /** Total bytes of earlier chunks. */
  #base = 0
  #events: MultipartEvent[] = []
  #error: MultipartError | undefined

  constructor(boundary: string, limits: MultipartLimits) {
    this.#limits = limits
    this.#pattern = Buffer.from(`\r\n--${boundary}`, 'latin1')
    this.#needle = this.#pattern.subarray(1)
  }

  /**
   * Events of this chunk; their bytes may be views of it. Throws {@link MultipartError} if the body is malformed or over a
   * limit; if the chunk has events before that, it returns them, and the next call throws.
   */
  push(chunk: Uint8Array): readonly MultipartEvent[] {
    const bytes = asBuffer(chunk)
    return this.collect(() => {
      for (let at = 0; at < bytes.length; ) at = this.step(bytes, at)
      this.#base += bytes.length
    })
  }

  /** Ends the body. Throws {@link MultipartError} if that is too early. */
  end(): readonly MultipartEvent[] {
    return this.collect(() => {
      if (this.#state === 'closing') this.#events.push({ type: 'close', bytes: this.#pending.take() })
      else if (this.#state === 'epilogue') this.release()
      else if (this.#parts === 0 && this.#state === 'preamble') {
        throw new MultipartError('boundary', 'The boundary of the content type does not occur in the body.')
      } else throw new MultipartError('truncated', 'The multipart body ends before its closing boundary.')
    })
  }

  private collect(read: () => void): readonly MultipartEvent[] {
    if (this.#error !== undefined) throw this.#error
    try {
      read()
    } catch (error) {
      if (!(error instanceof MultipartError)) throw error
      this.#error = error
      if (this.#events.length === 0) throw error
    }
    const events = this.#events
    this.#events = []
    return events
  }

  /** Reads on from `at`, at least one byte, and returns where it stopped. */
  private step(bytes: Buffer, at: number): number {
    switch (this.#state) {
      case 'preamble':
      case 'content':
      case 'epilogue':
        return this.text(bytes, at)
      case 'head':
        return this.head(bytes, at)
      default:
        return this.boundaryLine(bytes, at)
    }
  }

  /** Reads on past the next boundary, or to the end of the chunk. */
  private text(bytes: Buffer, from: number): number {
    const pattern = this.#pattern
    let at = from
    if (this.#matched > 0) {
      while (at < bytes.length && this.#matched < pattern.length && bytes[at] === pattern[this.#matched]) {
        at++
        this.#matched++
      }
      if (this.#matched === pattern.length) return this.found(at)
      if (at === bytes.length) return at
      this.release()
    }
    const lf = bytes.indexOf(this.#needle, at)
    if (lf >= 0) {
      const hasCr = lf > at && bytes[lf - 1] === CR
      this.emit(bytes.subarray(at, hasCr ? lf - 1 : lf))
      this.#before = hasCr ? 'crlf' : 'lf'
      return this.found(lf + this.#needle.length)
    }
    const kept = this.hold(bytes, at)
    this.emit(bytes.subarray(at, kept))
    return bytes.length
  }

  /** Withholds the end of a chunk that may begin the pattern; returns where that begins. */
  private hold(bytes: Buffer, from: number): number {
    const length = bytes.length
    if (bytes[length - 1] === CR) {
      this.#before = 'crlf'
      this.#matched = 1
      return length - 1
    }
    const first = Math.max(from, length - this.#needle.length + 1)
    let lf = length - 1
    while (lf >= first && bytes[lf] !== LF) lf--
    if (lf < first || !isAt(bytes, lf, length, this.#needle.subarray(0, length - lf))) return length
    const hasCr = lf > from && bytes[lf - 1] === CR
    this.#before = hasCr ? 'crlf' : 'lf'
    this.#matched = 1 + length - lf
    return hasCr ? lf - 1 : lf
  }

  /** The withheld bytes were not boundaries: they equal the start of the pattern, so they need no buffer. */
  private release(): void {
    this.emit(this.#pattern.subarray(BEFORE[this.#before], this.#matched))
    this.#matched = 0
  }

  private emit(bytes: Buffer): void {
    if (bytes.length === 0) return
    const type = this.#state === 'preamble' ? 'preamble' : this.#state === 'content' ? 'data' : 'epilogue'
    this.#events.push({ type, bytes })
  }

  /** Called when a boundary ends at `at`. */
  private found(at: number): number {
    const offset = this.#base + at - this.#needle.length + 1
    if (this.#before === 'lf') throw loneLf(offset - 1)
    if (this.#before === 'head') {
      throw new MultipartError('boundary', 'A boundary directly follows the head of a part.', { at: offset })
    }
    if (this.#state === 'epilogue') {
      throw new MultipartError('boundary', 'A boundary follows the closing boundary.', { at: offset })
    }
    if (this.#state === 'content') this.#events.push({ type: 'part-end', end: offset - 2, bytes: NOTHING })
    this.#pending.append(this.#pattern.subarray(BEFORE[this.#before]))
    this.#matched = 0
    this.#state = 'boundary'
    return at
  }

  /** Reads the rest of a boundary's line. */
  private boundaryLine(bytes: Buffer, from: number): number {
    const room = this.#limits.head - this.#pending.length
    let at = from
    while (at < bytes.length && this.#state !== 'head' && this.#state !== 'epilogue') {
      if (at - from >= room) throw this.overHead(at)
      this.#state = behindBoundary(this.#state, bytes[at] ?? 0, this.#base + at)
      at++
    }
    this.#pending.append(bytes.subarray(from, at))
    if (this.#state === 'head') this.beginHead(at)
    if (this.#state === 'epilogue') {
      this.#events.push({ type: 'close', bytes: this.#pending.take() })
      this.beginLine('start')
    }
    return at
  }

  private beginHead(at: number): void {
    this.#parts++
    if (this.#parts > this.#limits.parts) {
      const message = `The multipart body has more than ${this.#limits.parts} parts.`
      throw new MultipartError('limit', message, { at: this.#base + at, limit: 'parts' })
    }
    this.#boundaryLine = this.#pending.length
    this.#line = 0
    this.#last = LF
  }

  /** Reads on past the empty line that ends a head, or to the end of the chunk. */
  private head(bytes: Buffer, from: number): number {
    const room = this.#limits.head - this.#pending.length
    for (let start = from; ; ) {
      const lf = next(bytes, LF, start)
      if (Math.min(lf + 1, bytes.length) - from > room) throw this.overHead(from + room)
      if (lf === bytes.length) {
        this.#pending.append(bytes.subarray(from))
        this.#line += bytes.length - start
        this.#last = bytes[lf - 1] ?? 0
        return lf
      }
      if ((lf > from ? bytes[lf - 1] : this.#last) !== CR) throw loneLf(this.#base + lf)
      const line = this.#line + lf - start
      this.#line = 0
      start = lf + 1
      if (line > 1) continue
      this.#pending.append(bytes.subarray(from, start))
      this.endHead(this.#base + start)
      return start
    }
  }

  private endHead(start: number): void {
    const bytes = this.#pending.take()
    const lines = bytes.subarray(this.#boundaryLine, bytes.length - 2)
    const head = parseHead(lines, start - 2 - lines.length, this.#limits.headers)
    this.#events.push({ type: 'part', head, start, bytes })
    this.#state = 'content'
    this.beginLine('head')
  }

  /** The CRLF before this position may precede a boundary. */
  private beginLine(before: 'start' | 'head'): void {
    this.#before = before
    this.#matched = 2
  }

  private overHead(at: number): MultipartError {
    return new MultipartError('limit', `The head of a part is larger than ${this.#limits.head} bytes.`, {
      at: this.#base + at,
      limit: 'head',
    })
  }
}

/** The state after a byte on the boundary's line. */
function behindBoundary(state: State, byte: number, at: number): State {
  const isPadding = byte === SPACE || byte === TAB
  switch (state) {
    case 'boundary':
      if (byte === HYPHEN) return 'dash'
      if (isPadding) return 'padding'
      if (byte === CR) return 'line-end'
      break
    case 'padding':
      if (isPadding) return 'padding'
      if (byte === CR) return 'line-end'
      break
    case 'dash':
      if (byte === HYPHEN) return 'closing'
      break
    case 'closing':
      if (isPadding) return 'closing'
      if (byte === CR) return 'closing-end'
      break
    default:
      if (byte === LF) return state === 'line-end' ? 'head' : 'epilogue'
      throw new MultipartError('line', 'A boundary line ends with CR; it must end with CRLF.', { at })
  }
  if (byte === LF) throw loneLf(at)
  throw new MultipartError('boundary', 'A line begins with the boundary and continues with something else.', { at })
}

function loneLf(at: number): MultipartError {
  return new MultipartError('line', 'A line of the multipart body ends with LF; it must end with CRLF.', { at })
}
