import { Canvas } from '../../image/canvas.js'
import { FRAME, FRAMES, paintCard, paletteOf, SHARED_PALETTE } from '../../image/card.js'
import { png } from '../../image/png.js'
import { Seed } from '../../seed.js'
import { cut, type Task } from '../../tasks/task.js'
import { isGrid } from './action.js'
import { readFlags } from './flags.js'

const PANELS = 4
const SIDE_PIXELS = 1024
const STEP = 16
const MAX_RATIO = 3
const WHOLE = 100

/** What is drawn: as PNG, the same for every process. `progress` from 0 to 100 is how much of the prompt stands there. */
export function drawPicture(task: Task, progress: number): Buffer {
  const { text, ratio } = readFlags(cut(task.prompt))
  const { width, height } = sizeOf(ratio)
  const share = progress / WHOLE
  const words = text === '' ? String(task.facts.action) : text
  return isGrid(task) ? drawGrid(task, words, width, height, share) : drawOne(task, words, width, height, share)
}

/** Four cards, each with a number and a colour of its own. */
function drawGrid(task: Task, prompt: string, width: number, height: number, share: number): Buffer {
  const canvas = new Canvas(width, height)
  const size = { width: width / 2, height: height / 2 }
  for (let panel = 0; panel < PANELS; panel += 1) {
    const card = paintCard({ ...size, prompt, note: noteOf(task, panel + 1), share })
    const colour = FRAME + colourOf(task, panel + 1)
    canvas.paste(card, (panel % 2) * size.width, Math.floor(panel / 2) * size.height, [0, 1, colour])
  }
  return png(canvas, { palette: SHARED_PALETTE, transparent: false, description: prompt })
}

/** One of the four by itself, as large as all of them. */
function drawOne(task: Task, prompt: string, width: number, height: number, share: number): Buffer {
  const panel = Number(task.facts.index ?? 1)
  const canvas = paintCard({ width, height, prompt, note: noteOf(task, panel), share })
  const [paper, ink] = paletteOf(new Seed(task.seed))
  const frame = FRAMES[colourOf(task, panel)] ?? FRAMES[0]
  const palette = [paper ?? frame, ink ?? frame, frame]
  return png(canvas, { palette, transparent: false, description: prompt })
}

function noteOf({ seed, facts }: Task, panel: number): string {
  return `${String(facts.action).toLowerCase()} ${panel} of ${PANELS}, ${seed.slice(0, 8)}`
}

/** No two panels of one picture have the same. */
function colourOf({ seed }: Task, panel: number): number {
  return (new Seed(seed).below(FRAMES.length) + panel) % FRAMES.length
}

/** As many pixels as a square has, or fewer, in steps that four panels can share. */
function sizeOf(ratio: number): { readonly width: number; readonly height: number } {
  const wide = Math.min(MAX_RATIO, Math.max(1 / MAX_RATIO, ratio))
  const side = (pixels: number): number => Math.max(STEP, Math.round(pixels / STEP) * STEP)
  return { width: side(SIDE_PIXELS * Math.sqrt(wide)), height: side(SIDE_PIXELS / Math.sqrt(wide)) }
}
