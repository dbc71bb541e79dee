import type { Seed } from '../seed.js'
import { ADVANCE, Canvas, type Colour, LEADING } from './canvas.js'
import { plain } from './font.js'
import { IMAGE_FORMATS, type ImageFormat } from './formats.js'

export interface Card {
  readonly width: number
  readonly height: number
  readonly prompt: string
  /** One line at the bottom. */
  readonly note: string
  /** How much of the prompt is written already, from 0 to 1. */
  readonly share: number
  readonly transparent: boolean
  /** Chooses the colour of the frame. */
  readonly seed: Seed
}

export const PAPER = 0
export const INK = 1
export const FRAME = 2
const PALE: Colour = [0xf7, 0xf5, 0xf0]
const DARK: Colour = [0x22, 0x22, 0x2a]
/** What a card's frame may be coloured with. */
export const FRAMES: readonly [Colour, ...Colour[]] = [
  [0x2f, 0x6f, 0x9f],
  [0x9f, 0x4a, 0x2f],
  [0x3f, 0x7f, 0x4f],
  [0x7a, 0x4f, 0x8f],
  [0xa0, 0x7a, 0x20],
]
/** The largest letters leave room for so many of them beside each other. */
const MIN_COLUMNS = 12

/** The colours of a card, by their numbers in its picture. */
export function paletteOf(seed: Seed): readonly Colour[] {
  return [PALE, DARK, seed.pick(FRAMES)]
}

/** Colours of several cards in one picture: paper and ink, then every frame that there is. */
export const SHARED_PALETTE: readonly Colour[] = [PALE, DARK, ...FRAMES]

/** A card with the prompt on it, as a file. */
export function drawCard(card: Card, format: ImageFormat = 'png'): Buffer {
  const { transparent, prompt, seed } = card
  return IMAGE_FORMATS[format](paintCard(card), { palette: paletteOf(seed), transparent, description: prompt })
}

/** The picture alone: the prompt in letters as large as the words leave room for, cut where they do not. */
export function paintCard({ width, height, prompt, note, share }: Omit<Card, 'transparent' | 'seed'>): Canvas {
  const canvas = new Canvas(width, height)
  const edge = Math.max(2, Math.floor(Math.min(width, height) / 40))
  frame(canvas, edge)
  const left = 2 * edge
  const room = { width: width - 2 * left, height: height - 2 * left }
  const small = Math.max(1, Math.floor(Math.min(width, height) / 400))
  const foot = LEADING * small + edge
  const { scale, lines } = fit(plain(prompt), { ...room, height: room.height - foot })
  const shown = Math.ceil(lines.join(' ').length * share)
  let before = 0
  for (const [index, line] of lines.entries()) {
    canvas.text(left, left + index * LEADING * scale, line.slice(0, Math.max(0, shown - before)), scale, INK)
    before += line.length + 1
  }
  const most = Math.floor(room.width / (ADVANCE * small))
  canvas.text(left, height - left - LEADING * small, plain(note).slice(0, most), small, FRAME)
  return canvas
}

function frame(canvas: Canvas, edge: number): void {
  const { width, height } = canvas
  canvas.fill(0, 0, width, height, FRAME)
  canvas.fill(edge, edge, width - 2 * edge, height - 2 * edge, PAPER)
}

interface Room {
  readonly width: number
  readonly height: number
}

/** The largest letters in which all lines fit; the smallest, and as many lines as fit, where there are none. */
function fit(text: string, { width, height }: Room): { scale: number; lines: readonly string[] } {
  for (let scale = Math.max(1, Math.floor(width / (ADVANCE * MIN_COLUMNS))); ; scale -= 1) {
    const columns = Math.max(1, Math.floor(width / (ADVANCE * scale)))
    const rows = Math.max(0, Math.floor(height / (LEADING * scale)))
    if (scale > 1 && text.length > columns * rows) continue
    const lines = wrap(text, columns)
    if (lines.length <= rows || scale === 1) return { scale, lines: lines.slice(0, rows) }
  }
}

/** Breaks between words; a word that is longer than a line is broken where the line ends. */
function wrap(text: string, columns: number): readonly string[] {
  const lines: string[] = []
  let line = ''
  for (let word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > columns) {
      lines.push(line)
      line = ''
    }
    for (; word.length > columns; word = word.slice(columns)) lines.push(word.slice(0, columns))
    line = line === '' ? word : `${line} ${word}`
  }
  return line === '' ? lines : [...lines, line]
}
