import { GatewayError } from '../../../core/errors.js'
import type { Json, JsonObject } from '../../../core/json.js'
import { isEnded, type Task } from '../record.js'
import type { Face, Member, Variant } from './face.js'

/** Longest part of a client's id that an error repeats, characters. */
const MAX_SHOWN_CHARS = 256

/** What kinds of tasks differ in whose records are objects of the compatible interface. */
export interface ObjectKind {
  /** `object` of the records, and the first word of events. */
  readonly object: string
  /** What errors call it. */
  readonly title: string
  readonly variants: ReadonlyMap<string, Variant>
  input(member: Member): JsonObject
  record(task: Task): JsonObject
}

/**
 * Tasks of the compatible interface: an object with exactly four states, under `id` and, for clients of the older form,
 * under `task_id` too.
 */
export function objectFace({ object, title, variants, input, record }: ObjectKind): Face {
  return {
    input,
    record,
    begun: record,
    unfit,
    list: (tasks, more) => ({
      object: 'list',
      data: tasks.map(task => record(task)),
      first_id: tasks[0]?.id ?? null,
      last_id: tasks.at(-1)?.id ?? null,
      has_more: more,
    }),
    deleted: ({ id }) => ({ id, object: `${object}.deleted`, deleted: true }),
    unknown: id => new GatewayError('not_found', `${title} with id '${id.slice(0, MAX_SHOWN_CHARS)}' not found.`),
    variants,
    early: false,
    event: (before, after) =>
      isEnded(after) && before.state !== after.state ? `${object}.${statusOf(after)}` : undefined,
    notification: (task, event, sequence, now) => ({
      type: event,
      timestamp: new Date(now).toISOString(),
      sequence,
      data: record(task),
    }),
  }
}

/** Whoever waits for one that has failed waits in vain. */
function unfit(task: Task): GatewayError | undefined {
  if (task.state === 'succeeded') return undefined
  const message = 'Only a task that has ended well can be taken up.'
  return isEnded(task)
    ? new GatewayError('invalid_parameter', `${message} This one has failed.`)
    : new GatewayError('not_ready', message, { retryAfter: task.pace })
}

/** What all these records begin with, and why a task failed. */
export function common(task: Task, object: string): JsonObject {
  const { id, model, progress } = task
  const isThere = task.state === 'succeeded'
  return {
    id,
    task_id: id,
    object,
    model,
    status: statusOf(task),
    progress,
    created_at: seconds(task.created),
    completed_at: isThere ? secondsOrNull(task.finished) : null,
    expires_at: isThere ? secondsOrNull(task.expires) : null,
    error: task.error === undefined ? null : { code: task.error.code, message: task.error.message },
  }
}

/** Members of a request that are texts, for records to show. */
export function textsOf(member: Member, names: readonly string[]): JsonObject {
  const texts = names.flatMap(name => {
    const value = member(name)
    return typeof value === 'string' ? [[name, value] as const] : []
  })
  return Object.fromEntries(texts)
}

/** The length is the number `duration` or the text `seconds`; records show the text. */
export function lengthOf(member: Member): JsonObject {
  const seconds = member('seconds') ?? member('duration')
  return typeof seconds === 'string' || typeof seconds === 'number' ? { seconds: String(seconds) } : {}
}

export function textOf(value: Json | undefined): string | null {
  if (typeof value === 'number') return String(value)
  return typeof value === 'string' ? value : null
}

function statusOf({ state }: Task): string {
  switch (state) {
    case 'queued':
      return 'queued'
    case 'running':
      return 'in_progress'
    case 'succeeded':
      return 'completed'
    default:
      return 'failed'
  }
}

function seconds(milliseconds: number): number {
  return Math.floor(milliseconds / 1000)
}

function secondsOrNull(milliseconds: number | undefined): number | null {
  return milliseconds === undefined ? null : seconds(milliseconds)
}
