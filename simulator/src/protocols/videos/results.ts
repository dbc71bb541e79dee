import { SimulatorError } from '../../errors.js'
import { compatible } from '../../families/compatible.js'
import type { Protocol } from '../../protocol.js'
import type { TaskKind } from '../../tasks/task.js'
import { taskOf } from '../../tasks/task.js'
import { find, recallOf } from './begin.js'
import { artefact, type Variant } from './bytes.js'

const FILES = { video: 'film.mp4', thumbnail: 'still.png', spritesheet: 'sheet.png' } as const
/** Kinds whose results lie at an address that needs no credential. */
const OPEN: readonly TaskKind[] = ['relayed', 'deferred', 'pipeline']

/** Where a result lies. */
export function resultPath(name: string, variant: Variant): string {
  return `/results/${name}/${FILES[variant]}`
}

function partsOf(parameter: string): { readonly name: string; readonly file: string } {
  const [name = '', file = ''] = parameter.split('/')
  return { name, file }
}

function kindOf(name: string): TaskKind | undefined {
  return OPEN.find(kind => taskOf(name, kind) !== undefined)
}

/** `GET /results/{file}`: what asynchronous services point to when a task of theirs is done. */
export const results: Protocol = {
  method: 'GET',
  path: '/results/{file}',
  family: compatible,
  recall: ({ parameter }) => {
    const { name } = partsOf(parameter)
    const kind = kindOf(name)
    return kind && recallOf(kind, 'content')({ parameter: name })
  },
  answer: call => {
    const { name, file } = partsOf(call.parameter)
    const kind = kindOf(name)
    const task = kind && find(call, kind, name)
    const variant = (Object.keys(FILES) as Variant[]).find(each => FILES[each] === file)
    const isThere = task && call.tasks.course(task, call.now, 'look').phase === 'done'
    if (!isThere || variant === undefined) throw new SimulatorError(404, 'The specified key does not exist.')
    return artefact(task, variant, call, { 'cache-control': 'public, max-age=86400' })
  },
}
