import { Canvas } from '../image/canvas.js'
import { INK, PAPER, paintCard, paletteOf } from '../image/card.js'
import { png } from '../image/png.js'
import type { Seed } from '../seed.js'
import { Encoder } from './encoder.js'
import { mp4 } from './mp4.js'
import { parametersOf } from './parameters.js'
import { BLOCK, Plane } from './plane.js'

/** What is to be seen. The sides are even. */
export interface Film {
  readonly width: number
  readonly height: number
  readonly seconds: number
  readonly prompt: string
  /** One line at the bottom. */
  readonly note: string
  /** Chooses the colour of the frame. */
  readonly seed: Seed
}

const FRAMES_PER_SECOND = 8
/** Of the picture's height, for the bar. */
const BAR_SHARE = 12
const SHEET_COLUMNS = 4
const SHEET_SCALE = 4
const MIN_SIDE_PIXELS = 32

/** A card with the prompt on it, under which a bar fills up as time goes by: an MP4 file, the same for the same film. */
export function drawFilm(film: Film): Buffer {
  const { width, height, seconds, prompt: comment, seed } = film
  const plane = new Plane(paintFrame(film, 0))
  const encoder = new Encoder(plane, paletteOf(seed))
  const top = cardHeight(height) / BLOCK
  const frames = seconds * FRAMES_PER_SECOND
  const pictures = [encoder.first()]
  let filled = 0
  for (let frame = 1; frame < frames; frame += 1) {
    const until = Math.floor((frame * plane.columns) / (frames - 1))
    plane.fill(filled, top, until - filled, plane.rows - top, PAPER)
    const changed = []
    for (let row = top; row < plane.rows; row += 1) {
      for (let column = filled; column < until; column += 1) changed.push(row * plane.columns + column)
    }
    pictures.push(encoder.next(changed))
    filled = until
  }
  const parameters = parametersOf(width, height)
  return mp4({ width, height, parameters, pictures, picturesPerSecond: FRAMES_PER_SECOND, comment })
}

/** The film's middle as a PNG file. */
export function drawThumbnail(film: Film): Buffer {
  return picture(paintFrame(film, 0.5), film)
}

/** Small pictures of each second, row by row, as a PNG file. */
export function drawSheet(film: Film): Buffer {
  const width = Math.max(MIN_SIDE_PIXELS, Math.floor(film.width / SHEET_SCALE))
  const height = Math.max(MIN_SIDE_PIXELS, Math.floor(film.height / SHEET_SCALE))
  const columns = Math.min(SHEET_COLUMNS, film.seconds)
  const sheet = new Canvas(columns * width, Math.ceil(film.seconds / columns) * height)
  for (let second = 0; second < film.seconds; second += 1) {
    const frame = paintFrame({ ...film, width, height }, second / film.seconds)
    sheet.paste(frame, (second % columns) * width, Math.floor(second / columns) * height)
  }
  return picture(sheet, film)
}

function picture(canvas: Canvas, { prompt: description, seed }: Film): Buffer {
  return png(canvas, { palette: paletteOf(seed), transparent: false, description })
}

function paintFrame({ width, height, prompt, note }: Film, share: number): Canvas {
  const frame = new Canvas(width, height)
  const top = cardHeight(height)
  frame.paste(paintCard({ width, height: top, prompt, note, share: 1 }), 0, 0)
  frame.fill(0, top, width, height - top, INK)
  frame.fill(0, top, Math.floor(width * share), height - top, PAPER)
  return frame
}

/** The bar begins where a row of macroblocks does. */
function cardHeight(height: number): number {
  const rows = Math.floor(height / BLOCK)
  return Math.max(1, rows - Math.max(1, Math.floor(rows / BAR_SHARE))) * BLOCK
}
