import { Seed } from '../../seed.js'
import type { Task } from '../../tasks/task.js'

/** Actions that make four pictures, by the names that records have for them. */
const GRIDS = [
  ...(['IMAGINE', 'VARIATION', 'REROLL', 'BLEND', 'EDITS', 'LOW_VARIATION', 'HIGH_VARIATION'] as const),
  ...(['PAN', 'ZOOM', 'CUSTOM_ZOOM', 'INPAINT'] as const),
]
/** What is done by a task, as its record names it. */
export type Action = (typeof GRIDS)[number] | 'UPSCALE' | 'DESCRIBE' | 'SHORTEN' | 'VIDEO' | 'SWAP_FACE'

/** What waits for a second request with its prompt. */
const MODAL: readonly Action[] = ['CUSTOM_ZOOM', 'INPAINT']

/** One thing that can be done to a picture. */
export interface Step {
  readonly action: Action
  readonly index: number
}

interface Button extends Step {
  readonly customId: string
  readonly emoji: string
  readonly label: string
}

export function actionOf({ facts }: Task): Action {
  return facts.action as Action
}

export function isGrid(task: Task): boolean {
  return GRIDS.some(action => action === actionOf(task))
}

export function isModal(action: Action): boolean {
  return MODAL.includes(action)
}

/** What can be done to the result of a task. */
export function buttonsOf(task: Task): readonly Button[] {
  const id = uuidOf(task)
  if (isGrid(task)) return gridButtons(id)
  return actionOf(task) === 'UPSCALE' ? singleButtons(id) : []
}

const PANELS = [1, 2, 3, 4]

function gridButtons(id: string): readonly Button[] {
  return [
    ...PANELS.map(index => button('UPSCALE', index, `MJ::JOB::upsample::${index}::${id}`, `U${index}`)),
    button('REROLL', 0, `MJ::JOB::reroll::0::${id}::SOLO`, '', '\u{1f504}'),
    ...PANELS.map(index => button('VARIATION', index, `MJ::JOB::variation::${index}::${id}`, `V${index}`)),
  ]
}

function singleButtons(id: string): readonly Button[] {
  const pan = (side: string, emoji: string) => button('PAN', 1, `MJ::JOB::pan_${side}::1::${id}::SOLO`, '', emoji)
  return [
    button('LOW_VARIATION', 1, `MJ::JOB::low_variation::1::${id}::SOLO`, 'Vary (Subtle)', '\u{1fa84}'),
    button('HIGH_VARIATION', 1, `MJ::JOB::high_variation::1::${id}::SOLO`, 'Vary (Strong)', '\u{1fa84}'),
    button('INPAINT', 1, `MJ::Inpaint::1::${id}::SOLO`, 'Vary (Region)', '\u{1f58c}'),
    button('ZOOM', 1, `MJ::Outpaint::50::1::${id}::SOLO`, 'Zoom Out 2x', '\u{1f50d}'),
    button('ZOOM', 1, `MJ::Outpaint::75::1::${id}::SOLO`, 'Zoom Out 1.5x', '\u{1f50d}'),
    button('CUSTOM_ZOOM', 1, `MJ::CustomZoom::${id}`, 'Custom Zoom', '\u{1f50d}'),
    ...[pan('left', '\u{2b05}'), pan('right', '\u{27a1}'), pan('up', '\u{2b06}'), pan('down', '\u{2b07}')],
  ]
}

function button(action: Action, index: number, customId: string, label: string, emoji = ''): Button {
  return { action, index, customId, label, emoji }
}

/** The same for every process. */
function uuidOf({ seed, started, serial }: Task): string {
  const digits = new Seed('button', seed, started, serial).hex(32)
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}
