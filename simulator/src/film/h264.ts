import { bits, packed } from '../bits.js'
import type { Colour } from '../image/shapes.js'

/** What a unit holds, and how much others depend on it (H.264, table 7-1). */
const UNIT = { idr: 0x65, next: 0x61, sequence: 0x67, picture: 0x68 } as const
/** Pixels of a macroblock's side. */
const BLOCK = 16
/** Constrained baseline (section A.2.1.1). */
const PROFILE = '0100001011000000'
/** Levels 4.0 and 5.1, and how many macroblocks the pictures of the former may have (table A-1). */
const LEVELS = { usual: 40, most: 8192, high: 51 } as const
const FRAME_NUMBERS = 16
/** A macroblock of bare samples; one that is predicted from those beside it, in luma (mean) and chroma alike. */
const BARE = ue(25)
const PREDICTED = ue(3) + ue(0) + ue(0)
/** That a block has no coefficients, beside such blocks and beside a bare one, which counts as full (table 9-5). */
const NO_COEFFICIENTS = { usually: '1', besideBare: '000011' } as const

/**
 * A stream of one colour: the first macroblock of the first picture holds it, all others are predicted from it, and later
 * pictures skip everything. No unit holds two zeros in a row, so none needs escapes.
 */
interface Stream {
  readonly sequence: Buffer
  readonly picture: Buffer
  /** One unit a picture. */
  readonly pictures: readonly Buffer[]
}

export function stream(width: number, height: number, colour: Colour, frames: number): Stream {
  const [columns, rows] = [Math.ceil(width / BLOCK), Math.ceil(height / BLOCK)]
  const next = Array.from({ length: FRAME_NUMBERS }, (_, number) =>
    unit(UNIT.next, `${ue(0)}${ue(5)}${ue(0)}${bits(number, 4)}000${ue(0)}${ue(1)}${ue(columns * rows)}`),
  )
  const first = firstPicture(columns, rows, colour)
  return {
    sequence: sequence(width, height, columns, rows),
    // One slice group, one reference in either list, nothing weighted, slices say whether they are deblocked.
    picture: unit(UNIT.picture, `${ue(0)}${ue(0)}00${ue(0).repeat(3)}000${ue(0).repeat(3)}100`),
    pictures: Array.from({ length: frames }, (_, at) => (at === 0 ? first : (next[at % FRAME_NUMBERS] ?? first))),
  }
}

/** `seq_parameter_set_rbsp` (section 7.3.2.1.1). */
function sequence(width: number, height: number, columns: number, rows: number): Buffer {
  const level = columns * rows > LEVELS.most ? LEVELS.high : LEVELS.usual
  // Chroma has half as many samples, and only whole ones can be cropped.
  const [right, bottom] = [(columns * BLOCK - width) / 2, (rows * BLOCK - height) / 2]
  const cropped = right + bottom === 0 ? '0' : `1${ue(0)}${ue(right)}${ue(0)}${ue(bottom)}`
  // 4 bits of frame numbers, output in order, one reference, no gaps; frames only; no VUI.
  const head = `${PROFILE}${bits(level, 8)}${ue(0)}${ue(0)}${ue(2)}${ue(1)}0`
  return unit(UNIT.sequence, `${head}${ue(columns - 1)}${ue(rows - 1)}11${cropped}0`)
}

/** The slice's head (section 7.3.3), the bare macroblock behind its alignment, then the others row by row. */
function firstPicture(columns: number, rows: number, colour: Colour): Buffer {
  const head = `${ue(0)}${ue(7)}${ue(0)}${bits(0, 4)}${ue(0)}00${ue(0)}${ue(1)}${BARE}`
  const [luma = 0, blue = 0, red = 0] = samplesOf(colour)
  const bare = Buffer.alloc((BLOCK * BLOCK * 3) / 2, luma)
  bare.fill(blue, BLOCK * BLOCK, (BLOCK * BLOCK * 5) / 4)
  bare.fill(red, (BLOCK * BLOCK * 5) / 4)
  const others = Array.from({ length: columns * rows - 1 }, (_, at) => {
    const isBesideBare = at + 1 === 1 || at + 1 === columns
    return PREDICTED + NO_COEFFICIENTS[isBesideBare ? 'besideBare' : 'usually']
  })
  return Buffer.concat([Buffer.from([UNIT.idr]), packed(head), bare, packed(`${others.join('')}1`)])
}

/** ITU-R BT.601, in the narrow range. */
function samplesOf([red, green, blue]: Colour): readonly number[] {
  const luma = 16 + (65.738 * red + 129.057 * green + 25.064 * blue) / 256
  const toBlue = 128 + (-37.945 * red - 74.494 * green + 112.439 * blue) / 256
  const toRed = 128 + (112.439 * red - 94.154 * green - 18.285 * blue) / 256
  return [luma, toBlue, toRed].map(Math.round)
}

function unit(head: number, payload: string): Buffer {
  return Buffer.concat([Buffer.from([head]), packed(`${payload}1`)])
}

/** A number as Exp-Golomb code (section 9.1). */
function ue(value: number): string {
  const digits = (value + 1).toString(2)
  return digits.padStart(2 * digits.length - 1, '0')
}
