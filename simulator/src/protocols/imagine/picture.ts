import { colourOf } from '../../image/picture.js'
import { png } from '../../image/png.js'
import { Seed } from '../../seed.js'
import { cut, type Task } from '../../tasks/task.js'
import { isGrid } from './action.js'
import { readFlags } from './flags.js'

const SIDE_PIXELS = 1024
const STEP = 16
const MAX_RATIO = 3
const WHOLE = 100

/** As PNG, the same for every process: four panels, or one of them as large. `progress`, from 0 to 100, is how much is done. */
export function drawPicture(task: Task, progress: number): Buffer {
  const { text, ratio } = readFlags(cut(task.prompt))
  const panel = (number: number) => colourOf(new Seed(task.seed), number)
  return png({
    ...sizeOf(ratio),
    colours: isGrid(task) ? [panel(1), panel(2), panel(3), panel(4)] : [panel(Number(task.facts.index ?? 1))],
    share: progress / WHOLE,
    transparent: false,
    description: text === '' ? String(task.facts.action) : text,
  })
}

/** As many pixels as a square has, or fewer, in steps that four panels can share. */
function sizeOf(ratio: number): { readonly width: number; readonly height: number } {
  const wide = Math.min(MAX_RATIO, Math.max(1 / MAX_RATIO, ratio))
  const side = (pixels: number): number => Math.max(STEP, Math.round(pixels / STEP) * STEP)
  return { width: side(SIDE_PIXELS * Math.sqrt(wide)), height: side(SIDE_PIXELS / Math.sqrt(wide)) }
}
