import { colourOf } from '../image/picture.js'
import { png } from '../image/png.js'
import type { Seed } from '../seed.js'
import { stream } from './h264.js'
import { mp4 } from './mp4.js'

/** What stands for a generated film. The sides are even. */
export interface Film {
  readonly width: number
  readonly height: number
  readonly seconds: number
  readonly prompt: string
  /** Chooses the colour. */
  readonly seed: Seed
}

const FRAMES_PER_SECOND = 8
const SHEET_COLUMNS = 4
const SHEET_SCALE = 4
const MIN_SIDE_PIXELS = 32

/** An MP4 file of one colour, with the prompt as its comment: the same for the same film. */
export function drawFilm({ width, height, seconds, prompt, seed }: Film): Buffer {
  const { sequence, picture, pictures } = stream(width, height, colourOf(seed), seconds * FRAMES_PER_SECOND)
  return mp4({ width, height, sequence, picture, pictures, picturesPerSecond: FRAMES_PER_SECOND, comment: prompt })
}

/** A still as a PNG file. */
export function drawThumbnail({ width, height, prompt, seed }: Film): Buffer {
  return png({ width, height, colours: [colourOf(seed)], share: 1, transparent: false, description: prompt })
}

/** A PNG file as large as small stills of each second in rows. */
export function drawSheet({ width, height, seconds, ...film }: Film): Buffer {
  const small = (side: number): number => Math.max(MIN_SIDE_PIXELS, Math.floor(side / SHEET_SCALE))
  const columns = Math.min(SHEET_COLUMNS, seconds)
  const size = { width: columns * small(width), height: Math.ceil(seconds / columns) * small(height) }
  return drawThumbnail({ ...film, ...size, seconds })
}
