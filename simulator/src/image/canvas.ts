import { GLYPH_HEIGHT, GLYPH_WIDTH, glyphOf } from './font.js'

/** Dots from one character to the next, and from one line to the next. */
export const ADVANCE = GLYPH_WIDTH + 1
export const LEADING = GLYPH_HEIGHT + 2

const LEFTMOST = 1 << (GLYPH_WIDTH - 1)

/**
 * A picture of numbers into a palette, one byte a pixel. Each row begins with a byte 0, as PNG wants it of rows that are
 * not filtered (PNG, section 9.2).
 */
export class Canvas {
  readonly width: number
  readonly height: number
  readonly bytes: Uint8Array

  constructor(width: number, height: number) {
    this.width = width
    this.height = height
    this.bytes = new Uint8Array((width + 1) * height)
  }

  /** Fills a rectangle, as far as it lies within the picture. */
  fill(x: number, y: number, width: number, height: number, colour: number): void {
    const left = Math.max(0, x)
    const right = Math.min(this.width, x + width)
    if (right <= left) return
    for (let row = Math.max(0, y); row < Math.min(this.height, y + height); row += 1) {
      const start = row * (this.width + 1) + 1
      this.bytes.fill(colour, start + left, start + right)
    }
  }

  /** Copies another picture to a place where it fits; `recolour` gives its colours other numbers. */
  paste(other: Canvas, x: number, y: number, recolour: readonly number[] = []): void {
    for (let row = 0; row < other.height; row += 1) {
      const from = row * (other.width + 1) + 1
      const pixels = other.bytes.subarray(from, from + other.width)
      const to = (y + row) * (this.width + 1) + 1 + x
      this.bytes.set(recolour.length === 0 ? pixels : pixels.map(colour => recolour[colour] ?? colour), to)
    }
  }

  /** Writes one line from its upper left corner on; a dot of the font is `scale` pixels wide and high. */
  text(x: number, y: number, text: string, scale: number, colour: number): void {
    let left = x
    for (const character of text) {
      if (left >= this.width) return
      for (const [row, dots] of glyphOf(character).entries()) {
        for (let column = 0; column < GLYPH_WIDTH; column += 1) {
          if ((dots & (LEFTMOST >> column)) === 0) continue
          this.fill(left + column * scale, y + row * scale, scale, scale, colour)
        }
      }
      left += ADVANCE * scale
    }
  }
}

/** Red, green and blue, 0 to 255 each. */
export type Colour = readonly [red: number, green: number, blue: number]

export interface PictureOptions {
  readonly palette: readonly Colour[]
  /** Whether the first colour of the palette is not there at all; JPEG has no such thing. */
  readonly transparent: boolean
  /** Kept in the file where the format has a place for it. */
  readonly description: string
}
