import type { Colour } from '../image/canvas.js'
import { Bits } from './bits.js'
import { nal, UNIT } from './nal.js'
import { BLOCK, type Plane } from './plane.js'

/** Types of macroblocks in intra slices (H.264, table 7-11); in others they count from 5 on. */
const VERTICAL = 1
const HORIZONTAL = 2
const PCM = 25
const INTRA_IN_P = 5
/** How chroma is predicted (table 7-16). */
const CHROMA = { horizontal: 1, vertical: 2 } as const
/** Slices of one type alone (table 7-6). */
const SLICE = { p: 5, i: 7 } as const
const FRAME_NUMBERS = 16
/** How many coefficients a macroblock of bare samples counts as, for those beside it (section 9.2.1). */
const FULL = 16
const CHROMA_STEP = 2

type Samples = readonly [luma: number, blue: number, red: number]

/**
 * Writes pictures of few colours as a stream of H.264's constrained baseline profile, without any loss. A macroblock that
 * goes on as the one above or beside it is predicted from it, any other holds its bare samples; of the pictures after
 * the first, what did not change is skipped. No transform is needed, and flat areas cost a few bits.
 */
export class Encoder {
  readonly #plane: Plane
  readonly #samples: readonly Samples[]
  readonly #full: Uint8Array
  #number = 0

  /** The plane may be drawn on between two pictures. */
  constructor(plane: Plane, palette: readonly Colour[]) {
    this.#plane = plane
    this.#samples = palette.map(samplesOf)
    this.#full = new Uint8Array(plane.columns * plane.rows)
  }

  /** The first picture, whole. */
  first(): Buffer {
    const bits = new Bits()
    this.head(bits, SLICE.i)
    for (let address = 0; address < this.#full.length; address += 1) this.block(bits, address, 0)
    return nal(UNIT.idr, bits.finish())
  }

  /** The next picture, where nothing but these macroblocks has changed since the last; addresses in rising order. */
  next(changed: readonly number[]): Buffer {
    const bits = new Bits()
    this.#number = (this.#number + 1) % FRAME_NUMBERS
    this.head(bits, SLICE.p)
    this.#full.fill(0)
    let from = 0
    for (const address of changed) {
      bits.ue(address - from)
      this.block(bits, address, INTRA_IN_P)
      from = address + 1
    }
    if (from < this.#full.length) bits.ue(this.#full.length - from)
    return nal(UNIT.next, bits.finish())
  }

  /** `slice_header` (section 7.3.3). */
  private head(bits: Bits, type: number): void {
    bits.ue(0)
    bits.ue(type)
    bits.ue(0)
    bits.put(this.#number, 4)
    if (type === SLICE.i) {
      bits.ue(0) // idr_pic_id
      bits.put(0, 2) // nothing is kept for long
    } else {
      bits.put(0, 2) // references as usual
      bits.put(0, 1) // and kept as usual
    }
    bits.se(0) // slice_qp_delta
    bits.ue(1) // no deblocking, which would blur what is exact
  }

  private block(bits: Bits, address: number, offset: number): void {
    const column = address % this.#plane.columns
    const row = Math.floor(address / this.#plane.columns)
    const luma = this.predicted(column, row, 1, VERTICAL, HORIZONTAL)
    const chroma = luma && this.predicted(column, row, CHROMA_STEP, CHROMA.vertical, CHROMA.horizontal)
    if (luma === undefined || chroma === undefined) {
      this.bare(bits, address, offset)
      return
    }
    this.#full[address] = 0
    bits.ue(offset + luma)
    bits.ue(chroma)
    bits.se(0) // mb_qp_delta
    this.noCoefficients(bits, address, column, row)
  }

  private predicted<T>(column: number, row: number, step: number, vertical: T, horizontal: T): T | undefined {
    if (this.#plane.repeatsAbove(column, row, step)) return vertical
    return this.#plane.repeatsLeft(column, row, step) ? horizontal : undefined
  }

  /** `coeff_token` of a block without coefficients (table 9-5): its code depends on how many those beside it have. */
  private noCoefficients(bits: Bits, address: number, column: number, row: number): void {
    const left = column > 0 ? this.#full[address - 1] : undefined
    const above = row > 0 ? this.#full[address - this.#plane.columns] : undefined
    const beside = left !== undefined && above !== undefined ? (left + above + 1) >> 1 : (left ?? above ?? 0)
    if (beside === 0) bits.put(1, 1)
    else bits.put(0b000011, 6)
  }

  private bare(bits: Bits, address: number, offset: number): void {
    const { columns, stride, pixels } = this.#plane
    const first = Math.floor(address / columns) * BLOCK * stride + (address % columns) * BLOCK
    this.#full[address] = FULL
    bits.ue(offset + PCM)
    bits.align()
    for (let part = 0; part < 3; part += 1) {
      const step = part === 0 ? 1 : CHROMA_STEP
      for (let y = 0; y < BLOCK; y += step) {
        for (let x = 0; x < BLOCK; x += step) {
          bits.byte(this.#samples[pixels[first + y * stride + x] ?? 0]?.[part] ?? BLOCK)
        }
      }
    }
  }
}

/** Of a colour: ITU-R BT.601, in the narrow range. */
function samplesOf([red, green, blue]: Colour): Samples {
  const luma = 16 + (65.738 * red + 129.057 * green + 25.064 * blue) / 256
  const toBlue = 128 + (-37.945 * red - 74.494 * green + 112.439 * blue) / 256
  const toRed = 128 + (112.439 * red - 94.154 * green - 18.285 * blue) / 256
  return [Math.round(luma), Math.round(toBlue), Math.round(toRed)]
}
