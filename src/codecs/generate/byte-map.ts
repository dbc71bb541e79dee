import { Buffer } from 'node:buffer'
import { lastNotOver } from '../../core/search.js'

/** Longest piece, in characters: what one conversion looks through. */
const MAX_CHUNK_CHARS = 256

/**
 * Converts between characters (UTF-16 code units) and UTF-8 bytes of a text that comes in pieces. Pieces of plain ASCII
 * are not kept: bytes and characters go side by side there.
 */
export class ByteMap {
  #bytes = 0
  #chars = 0
  /** The pieces that are not plain ASCII, with the places where they begin. */
  readonly #texts: string[] = []
  readonly #byteStarts: number[] = []
  readonly #charStarts: number[] = []

  add(text: string): void {
    if (Buffer.byteLength(text) === text.length) this.count(text.length, text.length)
    else for (let at = 0; at < text.length; ) at += this.piece(text, at)
  }

  /** The character that begins at this byte, or that the byte is part of; the end of the text for bytes behind it. */
  charAt(byte: number): number {
    if (byte >= this.#bytes) return this.#chars
    const index = lastNotOver(this.#byteStarts, byte)
    const text = this.#texts[index]
    const inside = byte - (this.#byteStarts[index] ?? 0)
    if (text === undefined || inside < 0) return Math.max(byte, 0)
    const start = this.#charStarts[index] ?? 0
    const bytes = Buffer.from(text)
    if (inside >= bytes.length) return start + text.length + inside - bytes.length
    return start + charsIn(bytes, inside)
  }

  byteAt(char: number): number {
    if (char >= this.#chars) return this.#bytes
    const index = lastNotOver(this.#charStarts, char)
    const text = this.#texts[index]
    const inside = char - (this.#charStarts[index] ?? 0)
    if (text === undefined || inside < 0) return Math.max(char, 0)
    const start = this.#byteStarts[index] ?? 0
    if (inside >= text.length) return start + Buffer.byteLength(text) + inside - text.length
    return start + Buffer.byteLength(text.slice(0, inside))
  }

  /** Takes the next piece, which does not end between the halves of one character, and tells its length. */
  private piece(text: string, at: number): number {
    const cut = at + MAX_CHUNK_CHARS
    const end = cut < text.length && isHighHalf(text.charCodeAt(cut - 1)) ? cut + 1 : Math.min(cut, text.length)
    const piece = text.slice(at, end)
    const bytes = Buffer.byteLength(piece)
    if (bytes !== piece.length) {
      this.#texts.push(piece)
      this.#byteStarts.push(this.#bytes)
      this.#charStarts.push(this.#chars)
    }
    this.count(piece.length, bytes)
    return piece.length
  }

  private count(chars: number, bytes: number): void {
    this.#chars += chars
    this.#bytes += bytes
  }
}

function isHighHalf(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff
}

/** Characters of the text whose first bytes these are, without one that is cut. */
function charsIn(bytes: Buffer, length: number): number {
  let end = length
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--
  return bytes.toString('utf8', 0, end).length
}
