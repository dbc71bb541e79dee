import { GatewayError } from '../../../core/errors.js'
import { isObject, type Json, type JsonObject } from '../../../core/json.js'
import { membersRead, type TaskKind } from '../../../core/task-kind.js'
import type { Task } from '../record.js'
import type { Member, Presenter, View } from './presenter.js'

/** Variants of the videos of one task, in the order of the record's list. */
const VIDEO_VARIANTS = ['video', 'video_2', 'video_3', 'video_4']

/** Codes of the answer to a submit: the task was accepted, or waits for what `modal` adds. */
const TAKEN = 1
const WAITS = 21
const VALIDATION = '4'
/** Status of a task that waits for a further request. */
const WAITING = 'MODAL'

/**
 * Tasks of the image-task proxies: one flat record, times in milliseconds, progress as a text, buttons that name what
 * can be made of the result. A submit is answered with the id under `result` and, for clients that look there, `taskId`.
 */
export function imagePresenter({ members, variants }: TaskKind): Presenter {
  return {
    input: (member, label) => input(member, membersRead({ members }), label),
    record,
    begun,
    // Only the upstream knows which of its results can be continued, and how.
    unfit: task => (task.upstreamId === undefined ? unknown() : undefined),
    list: (tasks, _more, view) => tasks.map(task => record(task, view)),
    deleted: ({ id }) => ({ code: TAKEN, description: 'Deleted', result: id }),
    unknown,
    variants,
    early: true,
    event: (before, after) =>
      statusOf(before) === statusOf(after) && progressOf(before) === progressOf(after) ? undefined : 'task.changed',
    notification: (task, _event, _sequence, _now, view) => record(task, view),
  }
}

/** Answers for tasks of other callers and for unknown ids are the same. */
function unknown(): GatewayError {
  return new GatewayError('not_found', 'task_no_found', { familyCode: VALIDATION })
}

function input(member: Member, names: readonly string[], label: string | undefined): JsonObject {
  const members: Record<string, Json> = {}
  for (const name of names) {
    const value = member(name)
    if (typeof value === 'string') members[name] = value
  }
  return { ...(label === undefined ? {} : { action: label }), ...members }
}

function begun(task: Task, view: View): JsonObject {
  const waits = statusOf(task) === WAITING
  return {
    code: waits ? WAITS : TAKEN,
    description: waits ? 'Waiting for window confirm' : 'Submit success',
    result: task.id,
    taskId: task.id,
    properties: propertiesOf(task, view),
  }
}

const NOTHING: View = { link: () => undefined, result: () => undefined }

function record(task: Task, seen: View): JsonObject {
  const { id, input, fields, state, error } = task
  // A preliminary result of a task that failed is not kept.
  const view = state === 'failed' || state === 'cancelled' ? NOTHING : seen
  const videos = VIDEO_VARIANTS.flatMap(name => view.link(task, name) ?? [])
  return {
    id,
    action: textOf(fields.action) ?? textOf(input.action) ?? '',
    status: statusOf(task),
    prompt: textOf(input.prompt) ?? textOf(fields.prompt) ?? '',
    promptEn: textOf(fields.promptEn) ?? '',
    description: textOf(fields.description) ?? '',
    state: textOf(input.state) ?? '',
    submitTime: task.created,
    startTime: task.started ?? null,
    finishTime: task.finished ?? null,
    progress: progressOf(task),
    imageUrl: view.link(task, 'image') ?? null,
    failReason: error?.message ?? null,
    properties: propertiesOf(task, view),
    buttons: Array.isArray(fields.buttons) ? (fields.buttons as Json) : [],
    botType: textOf(fields.botType) ?? textOf(input.botType) ?? '',
    customId: textOf(input.customId) ?? '',
    maskBase64: '',
    videoUrl: videos[0] ?? '',
    videoUrls: videos.map(url => ({ url })),
  }
}

/** The upstream's properties, with the gateway's links instead of the upstream's addresses. */
function propertiesOf(task: Task, view: View): JsonObject {
  const { properties } = task.fields
  if (!isObject(properties)) return {}
  if (!('imageUrl' in properties)) return properties
  return { ...properties, imageUrl: view.link(task, 'image') ?? null }
}

function statusOf({ state, phase, fields }: Task): string {
  switch (state) {
    case 'succeeded':
      return 'SUCCESS'
    case 'failed':
    case 'cancelled':
      return 'FAILURE'
    default:
      if (isWaiting(fields)) return WAITING
      if (state === 'running') return 'IN_PROGRESS'
      return phase === 'submitting' ? 'NOT_START' : 'SUBMITTED'
  }
}

/** By the status or, without one, by the submit's code. */
function isWaiting({ status, code }: JsonObject): boolean {
  return status === undefined ? code === WAITS : textOf(status)?.toUpperCase() === WAITING
}

function progressOf({ state, progress }: Task): string {
  return state === 'failed' || state === 'cancelled' ? '' : `${progress}%`
}

function textOf(value: Json | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined
}
