import { readFaults } from '../../faults/read.js'
import type { JsonObject } from '../../json.js'
import { type Call, type Document, endpoint, type Protocol } from '../../protocol.js'
import { Seed } from '../../seed.js'
import type { Task } from '../../tasks/task.js'
import { type Action, buttonsOf, isGrid, type Step } from './action.js'
import { submitted } from './begin.js'
import { CODES, imagining, parent, refused } from './known.js'
import { readFlags } from './picture.js'

const MAX_PROMPT_CHARS = 8192
const DATA_URL = /^data:image\/[a-z0-9.+-]{1,40};base64,[A-Za-z0-9+/]+={0,2}$/

/** A request that begins a task. Its prompt may ask the simulator for something, too. */
function submit(path: string, answer: (call: Call) => Document, models: readonly string[] = []): Protocol {
  const recall = ({ body }: Pick<Call, 'body'>) => ({ faults: readFaults(askedIn(body)), scope: '' })
  return endpoint(imagining, `POST /mj/${path}`, { body: 'json', models, recall }, answer)
}

function askedIn({ prompt }: JsonObject): string {
  return typeof prompt === 'string' ? readFlags(prompt).asked : ''
}

/** `POST /mj/submit/imagine`. */
const imagine = submit(
  'submit/imagine',
  call => {
    const prompt = promptOf(call)
    pictures(call.body.base64Array, 0)
    return submitted(call, { action: 'IMAGINE', prompt, asked: askedIn(call.body) })
  },
  ['sim-imagine'],
)

/** `POST /mj/submit/change`: upscales, varies or makes anew what another task has made. */
const change = submit('submit/change', call => {
  const { action, index } = call.body
  if (action !== 'UPSCALE' && action !== 'VARIATION' && action !== 'REROLL') {
    throw refused(CODES.invalid, 'The action is wrong')
  }
  if (action === 'REROLL') return stepped(call, text(call, 'taskId'), { action, index: 0 })
  if (index !== 1 && index !== 2 && index !== 3 && index !== 4) throw refused(CODES.invalid, 'The index is wrong')
  return stepped(call, text(call, 'taskId'), { action, index })
})

const LETTERS = { U: 'UPSCALE', V: 'VARIATION', R: 'REROLL' } as const satisfies Record<string, Action>

/** `POST /mj/submit/simple-change`: `1320098173412546 U2`. */
const simpleChange = submit('submit/simple-change', call => {
  const [, task = '', letter, index = ''] = /^(\d+) +(?:([UV])([1-4])|R)$/i.exec(text(call, 'content').trim()) ?? []
  if (task === '') throw refused(CODES.invalid, 'The content is wrong')
  return stepped(call, task, { action: LETTERS[(letter ?? 'R').toUpperCase() as 'U'], index: Number(index) })
})

/** `POST /mj/submit/action`: presses one of the buttons that a task has. */
const action = submit('submit/action', call => {
  const name = text(call, 'taskId')
  const customId = text(call, 'customId')
  const { task } = parent(call, name)
  const button = buttonsOf(task).find(each => each.customId === customId)
  if (button === undefined) throw refused(CODES.invalid, 'The task has no such button')
  return stepped(call, name, button, { customId })
})

/** `POST /mj/submit/describe`: what a picture could have been asked for with. */
const describe = submit('submit/describe', call => {
  const [picture = ''] = pictures([call.body.base64 ?? call.body.link], 1)
  const prompt = `A picture of ${picture.length} characters, ${call.seed.hex(6)}`
  return submitted(call, { action: 'DESCRIBE', prompt, asked: '' })
})

const RATIOS = { PORTRAIT: '2:3', SQUARE: '1:1', LANDSCAPE: '3:2' } as const

/** `POST /mj/submit/blend`: two to five pictures as one. */
const blend = submit('submit/blend', call => {
  const { base64Array, dimensions = 'SQUARE' } = call.body
  const count = pictures(base64Array, 2, 5).length
  const ratio = Object.entries(RATIOS).find(([name]) => name === dimensions)?.[1]
  if (ratio === undefined) throw refused(CODES.invalid, 'The dimensions are wrong')
  return submitted(call, { action: 'BLEND', prompt: `${count} pictures blended --ar ${ratio}`, asked: '' })
})

/** `POST /mj/submit/shorten`. */
const shorten = submit('submit/shorten', call =>
  submitted(call, { action: 'SHORTEN', prompt: promptOf(call), asked: askedIn(call.body) }),
)

/** `POST /mj/submit/edits`: a picture, changed as the prompt says. */
const edits = submit('submit/edits', call => {
  const prompt = promptOf(call)
  pictures([call.body.image ?? call.body.base64 ?? call.body.maskBase64], 1)
  return submitted(call, { action: 'EDITS', prompt, asked: askedIn(call.body) })
})

/** `POST /mj/submit/video`: a film of a picture, or of one that a task has made. */
const video = submit('submit/video', call => {
  const { taskId, image, prompt, index } = call.body
  const words = typeof prompt === 'string' ? prompt : ''
  if (typeof taskId !== 'string') {
    if (typeof image !== 'string' || image === '') throw refused(CODES.invalid, 'The image can not be empty')
    return submitted(call, { action: 'VIDEO', prompt: words, asked: askedIn(call.body) })
  }
  const { task } = parent(call, taskId)
  const step = { action: 'VIDEO', index: typeof index === 'number' ? index : 1 } as const
  return submitted(call, { ...wishOf(task, step), prompt: words === '' ? task.prompt : words })
})

/** `POST /mj/insight-face/swap`. */
const swap = submit('insight-face/swap', call => {
  pictures([call.body.sourceBase64], 1)
  pictures([call.body.targetBase64], 1)
  return submitted(call, { action: 'SWAP_FACE', prompt: 'One face in the place of another', asked: '' })
})

/** The task that a step makes of another one. To upscale the same picture again is the same task. */
function stepped(call: Call, name: string, step: Step, more: JsonObject = {}): Document {
  const { task } = parent(call, name)
  const isPart = buttonsOf(task).some(each => each.action === step.action && each.index === step.index)
  if (!isPart) throw refused(CODES.failed, 'The related task is not allowed to execute changes')
  const once = step.action === 'UPSCALE' && isGrid(task) ? { once: `${name} ${step.index}` } : {}
  const wish = wishOf(task, step)
  return submitted(call, { ...wish, ...once, facts: { ...wish.facts, ...more } })
}

/** An upscaled picture is drawn as its panel was; any other one as nothing before. It takes as long as the first did. */
function wishOf(task: Task, { action, index }: Step) {
  const { prompt, asked, seed, facts } = task
  const drawn = action === 'UPSCALE' ? seed : new Seed(seed, action, index).hex(16)
  const { bot } = facts
  return { action, prompt, asked, seed: drawn, facts: { index, ...(bot === undefined ? {} : { bot }) } }
}

function promptOf(call: Call): string {
  const prompt = text(call, 'prompt')
  if (prompt.length > MAX_PROMPT_CHARS)
    throw refused(CODES.invalid, `The prompt is longer than ${MAX_PROMPT_CHARS} characters`)
  return prompt
}

function text({ body }: Call, name: string): string {
  const value = body[name]
  if (typeof value === 'string' && value.trim() !== '') return value
  throw refused(CODES.invalid, `${name} can not be empty`)
}

/** Pictures as data URLs; as many as there have to be, and no more than there may. */
function pictures(value: unknown, least: number, most = 20): readonly string[] {
  const list: readonly unknown[] = Array.isArray(value) ? value : []
  if (list.length < least || list.length > most) throw refused(CODES.invalid, 'The number of pictures is wrong')
  return list.map(each => {
    if (typeof each === 'string' && (DATA_URL.test(each) || (URL.canParse(each) && /^https?:/.test(each)))) return each
    throw refused(CODES.invalid, 'base64 format error')
  })
}

export const SUBMITS: readonly Protocol[] = [
  imagine,
  change,
  simpleChange,
  action,
  describe,
  blend,
  shorten,
  edits,
  video,
  swap,
]
