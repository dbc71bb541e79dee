import type { Canvas } from '../image/canvas.js'

/** Pixels of a macroblock's side. */
export const BLOCK = 16

/** A picture in whole macroblocks, one number of a colour a pixel; what lies beyond its edges repeats them. */
export class Plane {
  readonly columns: number
  readonly rows: number
  /** Pixels from one row to the next. */
  readonly stride: number
  readonly pixels: Uint8Array

  constructor({ width, height, bytes }: Canvas) {
    this.columns = Math.ceil(width / BLOCK)
    this.rows = Math.ceil(height / BLOCK)
    this.stride = this.columns * BLOCK
    this.pixels = new Uint8Array(this.stride * this.rows * BLOCK)
    for (let y = 0; y < this.rows * BLOCK; y += 1) {
      const from = Math.min(y, height - 1) * (width + 1) + 1
      const row = bytes.subarray(from, from + width)
      this.pixels.set(row, y * this.stride)
      this.pixels.fill(row[width - 1] ?? 0, y * this.stride + width, (y + 1) * this.stride)
    }
  }

  /** Fills whole macroblocks. */
  fill(column: number, row: number, columns: number, rows: number, colour: number): void {
    for (let y = row * BLOCK; y < (row + rows) * BLOCK; y += 1) {
      const start = y * this.stride
      this.pixels.fill(colour, start + column * BLOCK, start + (column + columns) * BLOCK)
    }
  }

  /** Whether every `step`th pixel of a macroblock repeats the one above it: the last such row of the block above. */
  repeatsAbove(column: number, row: number, step: number): boolean {
    if (row === 0) return false
    const { pixels, stride } = this
    const first = row * BLOCK * stride + column * BLOCK
    for (let y = 0; y < BLOCK; y += step) {
      for (let x = 0; x < BLOCK; x += step) {
        if (pixels[first + y * stride + x] !== pixels[first - step * stride + x]) return false
      }
    }
    return true
  }

  /** The same with the pixel to the left. */
  repeatsLeft(column: number, row: number, step: number): boolean {
    if (column === 0) return false
    const { pixels, stride } = this
    const first = row * BLOCK * stride + column * BLOCK
    for (let y = 0; y < BLOCK; y += step) {
      const start = first + y * stride
      for (let x = 0; x < BLOCK; x += step) if (pixels[start + x] !== pixels[start - step]) return false
    }
    return true
  }
}
