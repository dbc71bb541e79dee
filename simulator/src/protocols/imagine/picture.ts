import { colourOf } from '../../image/picture.js'
import { png } from '../../image/png.js'
import { Seed } from '../../seed.js'
import { cut, type Task } from '../../tasks/task.js'
import { isGrid } from './action.js'

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

/** What a prompt says behind its words. */
interface Flags {
  /** The words alone. */
  readonly text: string
  /** Width over height. */
  readonly ratio: number
  /** `--sim`: what is asked of the simulator, as the query of a model's name would. */
  readonly asked: string
}

const FLAG = /^(?:--|\u2014)([a-z]+)$/i
const RATIO = /^(\d{1,3}):(\d{1,3})$/

/** Takes a prompt apart: flags come after the words, each with its values. */
export function readFlags(prompt: string): Flags {
  const words: string[] = []
  const flags: { readonly name: string; readonly values: string[] }[] = []
  for (const word of prompt.split(/\s+/)) {
    const [, name] = FLAG.exec(word) ?? []
    if (name !== undefined) flags.push({ name: name.toLowerCase(), values: [] })
    else if (word !== '') (flags.at(-1)?.values ?? words).push(word)
  }
  let ratio = 1
  let asked = ''
  for (const { name, values } of flags) {
    const [, across = 0, down = 0] = RATIO.exec(values.join(' '))?.map(Number) ?? []
    if ((name === 'ar' || name === 'aspect') && across > 0 && down > 0) ratio = across / down
    if (name === 'sim') asked = values.join('&')
  }
  return { text: words.join(' '), ratio, asked }
}
