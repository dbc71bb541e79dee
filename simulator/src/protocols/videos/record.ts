import { SimulatorError } from '../../errors.js'
import { compatible } from '../../families/compatible.js'
import { readFaults } from '../../faults/read.js'
import type { JsonObject } from '../../json.js'
import { type Call, endpoint } from '../../protocol.js'
import { type Course, statusOf, type Task, type TaskKind, taskOf, timeOf } from '../../tasks/task.js'
import { type Begun, find, originOf, recallOf, videoOf } from './begin.js'
import { artefact, type Variant } from './bytes.js'

const PREFIX = { video: 'video_', relayed: 'task_' } as const
const RETENTION_SECONDS = 86_400

type VideoKind = keyof typeof PREFIX

/** The name in an id of this protocol, and whose it is. */
export function named(id: string): { readonly name: string; readonly kind: VideoKind } | undefined {
  const kind = id.startsWith(PREFIX.video) ? 'video' : id.startsWith(PREFIX.relayed) ? 'relayed' : undefined
  return kind && { name: id.slice(PREFIX[kind].length), kind }
}

function idOf(kind: VideoKind, name: string): string {
  return PREFIX[kind] + name
}

/** A video as the protocol has it, or as relays of other services tell it. */
export function record({ name, task }: Begun, course: Course, call: Call): JsonObject {
  const full = complete(name, task, course)
  if (task.kind !== 'relayed') return full
  const url = { url: originOf(call) + resultPath(name, 'video') }
  const set = Object.entries({ ...full, ...(course.phase === 'done' && { metadata: url }) })
  return { ...Object.fromEntries(set.filter(([, value]) => value !== null)), task_id: full.id ?? null }
}

const STATUS = { queued: 'queued', running: 'in_progress', done: 'completed', failed: 'failed' }

const ERRORS = {
  failed: { code: 'video_generation_failed', message: 'The video could not be generated. Please try again.' },
  blocked: { code: 'moderation_blocked', message: 'Your request was blocked by our moderation system.' },
} as const

function complete(name: string, task: Task, course: Course): JsonObject {
  const { phase, progress } = course
  const { model, width, height, seconds } = videoOf(task)
  const isDone = phase === 'done' || phase === 'empty'
  const ended = expiryOf(task) - RETENTION_SECONDS
  const { from } = task.facts
  return {
    id: idOf(task.kind === 'relayed' ? 'relayed' : 'video', name),
    object: 'video',
    model,
    status: statusOf(STATUS, course, readFaults(task.asked)),
    progress,
    created_at: Math.floor(task.started / 1000),
    completed_at: isDone ? ended : null,
    expires_at: isDone ? ended + RETENTION_SECONDS : null,
    prompt: task.prompt,
    size: `${width}x${height}`,
    seconds: String(seconds),
    remixed_from_video_id: from ?? null,
    error: phase === 'failed' || phase === 'blocked' ? ERRORS[phase] : null,
  }
}

/** When the result is no longer kept, in seconds since the epoch. */
export function expiryOf({ started, asked }: Task): number {
  return Math.floor((started + timeOf(readFaults(asked))) / 1000) + RETENTION_SECONDS
}

const FILES = { video: 'film.mp4', thumbnail: 'still.png', spritesheet: 'sheet.png' } as const
/** Kinds whose results have an address that needs no credential. */
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
export const results = endpoint(
  compatible,
  'GET /results/{file}',
  {
    recall: ({ parameter }) => {
      const { name } = partsOf(parameter)
      const kind = kindOf(name)
      return kind && recallOf(kind, 'content')({ parameter: name })
    },
  },
  call => {
    const { name, file } = partsOf(call.parameter)
    const kind = kindOf(name)
    const task = kind && find(call, kind, name)
    const variant = (Object.keys(FILES) as Variant[]).find(each => FILES[each] === file)
    const isThere = task && call.tasks.course(task, call.now, 'look').phase === 'done'
    if (!isThere || variant === undefined) throw new SimulatorError(404, 'The specified key does not exist.')
    return artefact(task, variant, call, { 'cache-control': 'public, max-age=86400' })
  },
)
