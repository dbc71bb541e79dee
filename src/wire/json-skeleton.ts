import { BACKSLASH, COMMA, HYPHEN, LOWER_U, QUOTE } from '../core/ascii.js'
import type { Chunks } from './chunks.js'

/** Longer strings and numbers are shortened. */
export const MAX_TOKEN_BYTES = 1024
/** Max bytes kept of a shortened string, plus its opening quote. */
const KEPT_STRING_BYTES = 64
/** Elements that each array may still add once the rest is large. */
const MAX_TAIL_ELEMENTS = 16

/** Sizes in bytes from which containers lose their tails: first arrays, then anything nested, then the top level. */
const FULL_BYTES = { array: 512 * 1024, nested: 768 * 1024, top: 1024 * 1024 } as const

/**
 * What a schema check needs of a document: everything except the inside of long strings and numbers, and the tails of
 * containers once the rest is large. It stores only the cuts; the text is built on demand.
 */
export class Skeleton {
  /** Pairs of offsets, ascending: a token to shorten, or the tail of a container from its comma on. */
  readonly #cuts: number[] = []
  #left = 0
  /** The level whose tail is being left out (0 for none), and the comma at which the tail begins. */
  #depth = 0
  #comma = 0
  #full: number = FULL_BYTES.array

  /** Offset from which commas must be reported. */
  get full(): number {
    return this.#full
  }

  /** Records a long number or string: `start` is its first byte or opening quote, `end` its end or closing quote. */
  shorten(start: number, end: number): void {
    if (this.#depth === 0) this.cut(start, end, KEPT_STRING_BYTES)
  }

  /** Records a comma past `full`; `elements` is how many elements an array has added there, 0 in objects. */
  comma(at: number, depth: number, elements: number): void {
    if (this.#depth !== 0) return
    const most = depth === 1 ? FULL_BYTES.top : FULL_BYTES.nested
    if (elements <= MAX_TAIL_ELEMENTS && at - this.#left < most) return
    this.#depth = depth
    this.#comma = at
  }

  /** Records the closing bracket of the container at `depth`. */
  close(at: number, depth: number): void {
    if (this.#depth !== depth) return
    this.#depth = 0
    this.cut(this.#comma, at, 0)
  }

  private cut(start: number, end: number, kept: number): void {
    this.#cuts.push(start, end)
    this.#left += end - start - kept
    this.#full = FULL_BYTES.array + this.#left
  }

  /** The remaining text; valid JSON if the document is. */
  render(document: Chunks): string {
    if (this.#cuts.length === 0) return document.toString()
    // A string also keeps its quote; a little of a tail is copied before it is cut off.
    const rest = Buffer.allocUnsafe(document.length - this.#left + this.#cuts.length + 1 + KEPT_STRING_BYTES)
    let from = 0
    let length = 0
    for (let i = 0; i < this.#cuts.length; i += 2) {
      const start = this.#cuts[i] ?? 0
      const end = this.#cuts[i + 1] ?? 0
      const head = length + start - from
      const copied = document.copy(rest, length, from, Math.min(end, start + 1 + KEPT_STRING_BYTES))
      length = head + keptOf(rest, head, length + copied)
      from = end
    }
    length += document.copy(rest, length, from, document.length)
    return rest.toString('utf8', 0, length)
  }
}

/**
 * Number of bytes kept at the start of a cut: whole characters of a string, the first digit of a number, nothing of a tail.
 */
function keptOf(bytes: Buffer, start: number, end: number): number {
  switch (bytes[start]) {
    case QUOTE:
      return keptOfString(bytes, start, end)
    case COMMA:
      return 0
    case HYPHEN:
      return 2
    default:
      return 1
  }
}

/** Shortened to the last boundary between characters, as written. */
function keptOfString(bytes: Buffer, start: number, end: number): number {
  let at = start + 1
  for (;;) {
    const next = at + widthAt(bytes, at, end)
    if (next > end) return at - start
    at = next
  }
}

/**
 * Length in bytes of the character or escape that begins at `at`. Invalid UTF-8 never includes a following ASCII byte,
 * which may begin an escape.
 */
function widthAt(bytes: Buffer, at: number, end: number): number {
  const byte = bytes[at] ?? 0
  if (byte === BACKSLASH) return bytes[at + 1] === LOWER_U ? 6 : 2
  const most = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1
  let width = 1
  while (width < most && (at + width >= end || ((bytes[at + width] ?? 0) & 0xc0) === 0x80)) width++
  return width
}
