import { Bits } from './bits.js'
import { nal, UNIT } from './nal.js'
import { BLOCK } from './plane.js'

/** Constrained baseline (H.264, section A.2.1.1). */
const PROFILE = 66
const CONSTRAINTS = 0b1100_0000
/** The smallest level whose pictures may have so many macroblocks (table A-1). */
const LEVELS = [
  [99, 10],
  [396, 11],
  [792, 21],
  [1620, 22],
  [3600, 31],
  [5120, 32],
  [8192, 40],
  [22_080, 50],
] as const
const HIGHEST = 52
/** Chroma has half as many samples, and only whole ones can be cropped. */
const CROP_UNIT = 2

export interface Parameters {
  readonly profile: number
  readonly constraints: number
  readonly level: number
  readonly sequence: Buffer
  readonly picture: Buffer
}

/** The parameter sets of a stream whose pictures have this size, both even. */
export function parametersOf(width: number, height: number): Parameters {
  const columns = Math.ceil(width / BLOCK)
  const rows = Math.ceil(height / BLOCK)
  const level = levelOf(columns, rows)
  const cropped = [columns * BLOCK - width, rows * BLOCK - height].map(pixels => pixels / CROP_UNIT)
  return { profile: PROFILE, constraints: CONSTRAINTS, level, sequence: sequence(), picture: picture() }

  /** `seq_parameter_set_rbsp` (section 7.3.2.1.1). */
  function sequence(): Buffer {
    const bits = new Bits()
    for (const byte of [PROFILE, CONSTRAINTS, level]) bits.byte(byte)
    for (const value of [0, 0, 2, 1]) bits.ue(value) // id; 4 bits of frame numbers; output in order; one reference
    bits.put(0, 1) // no gaps
    bits.ue(columns - 1)
    bits.ue(rows - 1)
    bits.put(0b11, 2) // frames only; direct_8x8_inference
    const isCropped = cropped.some(units => units > 0)
    bits.put(isCropped ? 1 : 0, 1)
    if (isCropped) for (const units of [0, cropped[0] ?? 0, 0, cropped[1] ?? 0]) bits.ue(units)
    bits.put(0, 1) // no VUI
    return nal(UNIT.sequence, bits.finish())
  }
}

/** `pic_parameter_set_rbsp` (section 7.3.2.2). */
function picture(): Buffer {
  const bits = new Bits()
  for (let id = 0; id < 2; id += 1) bits.ue(0)
  bits.put(0, 2) // CAVLC; one order of fields
  for (const value of [0, 0, 0]) bits.ue(value) // one slice group; one reference in either list
  bits.put(0, 3) // nothing is weighted
  for (const value of [0, 0, 0]) bits.se(value) // quantisers as usual
  bits.put(0b100, 3) // slices say whether they are deblocked
  return nal(UNIT.picture, bits.finish())
}

/** A picture's sides are bounded as well: eight times its area at most, squared. */
function levelOf(columns: number, rows: number): number {
  const longest = Math.max(columns, rows)
  return LEVELS.find(([most]) => columns * rows <= most && longest ** 2 <= 8 * most)?.[1] ?? HIGHEST
}
