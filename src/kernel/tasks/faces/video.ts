import { GatewayError } from '../../../core/errors.js'
import type { Json, JsonObject } from '../../../core/json.js'
import { isEnded, type Task } from '../record.js'
import type { Face, Member, Variant } from './face.js'

/** Longest part of a client's id that an error repeats, characters. */
const SHOWN = 256

const VARIANTS: ReadonlyMap<string, Variant> = new Map([
  ['video', { fits: /^video\//, type: 'video/mp4' }],
  ['thumbnail', { fits: /^image\//, type: 'image/webp' }],
  ['spritesheet', { fits: /^image\//, type: 'image/jpeg' }],
])

/**
 * Videos of the compatible interface: an object with exactly four states, under `id` and, for clients of the older form,
 * under `task_id` too.
 */
export const video: Face = {
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
  deleted: ({ id }) => ({ id, object: 'video.deleted', deleted: true }),
  unknown: id => new GatewayError('not_found', `Video with id '${id.slice(0, SHOWN)}' not found.`),
  variants: VARIANTS,
  early: false,
  event: (before, after) => (isEnded(after) && before.state !== after.state ? `video.${statusOf(after)}` : undefined),
  notification: (task, event, sequence, now) => ({
    type: event,
    timestamp: new Date(now).toISOString(),
    sequence,
    data: record(task),
  }),
}

/** Whoever waits for one that has failed waits in vain. */
function unfit(task: Task): GatewayError | undefined {
  if (task.state === 'succeeded') return undefined
  const message = 'Only a task that has ended well can be taken up.'
  return isEnded(task)
    ? new GatewayError('invalid_parameter', `${message} This one has failed.`)
    : new GatewayError('not_ready', message, { retryAfter: task.pace })
}

/** The length is the number `duration` or the text `seconds`; records show the text. */
function input(member: Member): JsonObject {
  const prompt = member('prompt')
  const seconds = member('seconds') ?? member('duration')
  const size = member('size')
  return {
    ...(typeof prompt === 'string' ? { prompt } : {}),
    ...(typeof seconds === 'string' || typeof seconds === 'number' ? { seconds: String(seconds) } : {}),
    ...(typeof size === 'string' ? { size } : {}),
  }
}

function record(task: Task): JsonObject {
  const { id, model, progress, input, fields } = task
  return {
    id,
    task_id: id,
    object: 'video',
    model,
    status: statusOf(task),
    progress,
    created_at: seconds(task.created),
    completed_at: task.state === 'succeeded' ? secondsOrNull(task.finished) : null,
    expires_at: task.state === 'succeeded' ? secondsOrNull(task.expires) : null,
    prompt: textOf(input.prompt),
    size: textOf(fields.size) ?? textOf(input.size),
    seconds: textOf(fields.seconds) ?? textOf(input.seconds),
    remixed_from_video_id: task.parent ?? null,
    error: task.error === undefined ? null : { code: task.error.code, message: task.error.message },
  }
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

function textOf(value: Json | undefined): string | null {
  if (typeof value === 'number') return String(value)
  return typeof value === 'string' ? value : null
}
