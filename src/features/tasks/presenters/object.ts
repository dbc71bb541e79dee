import { GatewayError } from '../../../core/errors.js'
import type { Json, JsonObject } from '../../../core/json.js'
import type { TaskKind, TaskMember } from '../../../core/task-kind.js'
import { isEnded, type Task } from '../record.js'
import type { Member, Presenter } from './presenter.js'

/** Longest part of a client's id that an error message repeats, characters. */
const MAX_SHOWN_CHARS = 256

/**
 * Tasks of the compatible interface: an object with exactly four states, with its id under `id` and, for older clients,
 * under `task_id`; with the members that the kind declares, and the fields that its upstreams declare.
 */
export function objectPresenter(kind: TaskKind): Presenter {
  const { object, title, variants } = kind
  const record = (task: Task): JsonObject => recordOf(task, kind)
  return {
    input: member => inputOf(member, kind),
    record,
    begun: record,
    unfit,
    list: (tasks, more) => ({
      object: 'list',
      data: tasks.map(record),
      first_id: tasks[0]?.id ?? null,
      last_id: tasks.at(-1)?.id ?? null,
      has_more: more,
    }),
    deleted: ({ id }) => ({ id, object: `${object}.deleted`, deleted: true }),
    unknown: id => unknownTask(title, id),
    variants,
    early: false,
    event: (before, after) =>
      isEnded(after) && before.state !== after.state ? `${object}.${statusOf(after)}` : undefined,
    notification: (task, event, sequence, now) => notificationOf(event, sequence, now, record(task)),
  }
}

export function unknownTask(title: string, id: string): GatewayError {
  return new GatewayError('not_found', `${title} with id '${id.slice(0, MAX_SHOWN_CHARS)}' not found.`)
}

export function notificationOf(event: string, sequence: number, now: number, data: JsonObject): JsonObject {
  return { type: event, timestamp: new Date(now).toISOString(), sequence, data }
}

/** A new task can only continue one that has succeeded. */
function unfit(task: Task): GatewayError | undefined {
  if (task.state === 'succeeded') return undefined
  const message = 'Only a task that has succeeded can be continued.'
  return isEnded(task)
    ? new GatewayError('invalid_parameter', `${message} This one failed.`)
    : new GatewayError('not_ready', message, { retryAfter: task.pace })
}

/** Only texts, numbers and booleans: larger values are not kept. */
function inputOf(member: Member, { members }: TaskKind): JsonObject {
  const input: Record<string, Json> = {}
  for (const [name, { from }] of Object.entries(members)) {
    const value = from.map(member).find(isPlain)
    if (value !== undefined) input[name] = value
  }
  return input
}

function isPlain(value: unknown): value is string | number | boolean {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
}

function recordOf(task: Task, { object, members, nulls, parent }: TaskKind): JsonObject {
  const { id, model, progress, input, fields } = task
  const isThere = task.state === 'succeeded'
  const own: Record<string, Json> = {}
  for (const [name, member] of Object.entries(members)) {
    const value = shown(fields[name], member) ?? shown(input[name], member) ?? (nulls ? null : undefined)
    if (value !== undefined) own[name] = value
  }
  if (parent !== undefined && (task.parent !== undefined || nulls)) own[parent] = task.parent ?? null
  const record = {
    id,
    task_id: id,
    object,
    model,
    status: statusOf(task),
    progress,
    created_at: seconds(task.created),
    completed_at: isThere ? secondsOrNull(task.finished) : null,
    expires_at: isThere ? secondsOrNull(task.expires) : null,
    ...own,
  }
  // The upstream's fields do not override the record's own members.
  const others = Object.entries(fields).filter(([name]) => name !== 'error' && !Object.hasOwn(record, name))
  const error = task.error === undefined ? null : { code: task.error.code, message: task.error.message }
  return { ...record, ...Object.fromEntries(others), error }
}

function shown(value: Json | undefined, { as }: TaskMember): Json | undefined {
  if (as !== 'text') return value
  if (typeof value === 'number') return String(value)
  return typeof value === 'string' ? value : undefined
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
