import { readFaults } from '../../faults/read.js'
import type { JsonObject } from '../../json.js'
import type { Call } from '../../protocol.js'
import { type Course, type Task, timeOf } from '../../tasks/task.js'
import { type Begun, originOf, videoOf } from './begin.js'
import { resultPath } from './results.js'

const PREFIX = { video: 'video_', relayed: 'task_' } as const
const RETENTION_SECONDS = 86_400

export type VideoKind = keyof typeof PREFIX

/** The name in an id of this protocol, and whose it is. */
export function named(id: string): { readonly name: string; readonly kind: VideoKind } | undefined {
  const kind = id.startsWith(PREFIX.video) ? 'video' : id.startsWith(PREFIX.relayed) ? 'relayed' : undefined
  return kind && { name: id.slice(PREFIX[kind].length), kind }
}

export function idOf(kind: VideoKind, name: string): string {
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

const STATUS = {
  queued: 'queued',
  running: 'in_progress',
  done: 'completed',
  empty: 'completed',
  failed: 'failed',
  blocked: 'failed',
} as const satisfies Record<Course['phase'], string>

const ERRORS = {
  failed: { code: 'video_generation_failed', message: 'The video could not be generated. Please try again.' },
  blocked: { code: 'moderation_blocked', message: 'Your request was blocked by our moderation system.' },
} as const

function complete(name: string, task: Task, { phase, progress }: Course): JsonObject {
  const { model, width, height, seconds } = videoOf(task)
  const asked = readFaults(task.asked)
  const isOver = phase !== 'queued' && phase !== 'running'
  const isDone = phase === 'done' || phase === 'empty'
  const ended = expiryOf(task) - RETENTION_SECONDS
  const { from } = task.facts
  return {
    id: idOf(task.kind === 'relayed' ? 'relayed' : 'video', name),
    object: 'video',
    model,
    status: isOver ? STATUS[phase] : (asked.state ?? STATUS[phase]),
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
