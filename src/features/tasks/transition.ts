import type { TaskShape, TaskState } from '../../core/task.js'
import type { Reading } from './reading.js'
import { isEnded, type Task } from './record.js'

/** Refusals in a row after which a task is considered lost. */
export const MAX_MISSES = 10

/** Reasons of the gateway itself to end a task. */
export const FAILURES = {
  deadline: 'The task did not end in time.',
  stalled: 'The upstream stopped working on the task.',
  no_artifact: 'The task ended without a result.',
  not_kept: 'There was no room to keep the result of the task.',
  result_too_large: 'The result of the task is too large to be kept.',
  task_lost: 'The upstream no longer knows the task.',
  credential_changed:
    'The upstream does not know the task under its present credential; the task was started with another one.',
  target_gone: 'The upstream of the task is no longer configured.',
  submit_unconfirmed: 'The upstream did not confirm that it started the task. It was not asked again.',
  interrupted: 'The gateway ended while it worked on the task. It was not begun again.',
  cancelled: 'The task was cancelled.',
  failed: 'The upstream could not complete the task.',
  expired: 'The task expired at its upstream.',
} as const
export type Failure = keyof typeof FAILURES

/**
 * The task after an answer of its upstream. Progress never decreases, an ended task does not change, and an unknown word
 * for the state changes nothing. `proved`: there is a result to fetch.
 */
export function applyUpstreamStatus(
  task: Task,
  reading: Reading,
  shape: TaskShape,
  now: number,
  proved: boolean,
): Task {
  if (isEnded(task) && task.phase !== 'late') return task
  const state = stateAfter(task, reading)
  const fields = Object.keys(reading.fields).length === 0 ? task.fields : { ...task.fields, ...reading.fields }
  const { unkept: _, ...known } = task
  const base: Task = { ...known, fields, faults: 0, misses: 0 }
  switch (state) {
    case 'succeeded':
      return proved ? succeeded(base, reading, shape, now) : failWith(base, reading, 'no_artifact', now, shape)
    case 'failed':
      return failWith(base, reading, reading.expired ? 'expired' : 'failed', now, shape)
    case 'cancelled':
      return failWith(base, reading, 'cancelled', now, shape, 'cancelled')
    default:
      return going(base, reading, state, now, silence(task, shape, now))
  }
}

/** An error beside a state of success means a failure if there is no result. */
function stateAfter(task: Task, { state, error, artifacts }: Reading): TaskState {
  if (state === 'succeeded' && error !== undefined && artifacts.length === 0) return 'failed'
  return state ?? (isEnded(task) ? 'running' : task.state)
}

/** How long there was no news because the upstream was not polled or did not answer, milliseconds. */
function silence({ faults, heard: last, moved }: Task, { poll }: TaskShape, now: number): number {
  const since = now - Math.max(last ?? moved, moved)
  // A long pause without failed polls: no process ran, or it had too much to do.
  return faults > 0 || since > 2 * Math.max(poll.slowest, poll.first) ? since : 0
}

function going(task: Task, reading: Reading, state: TaskState, now: number, silent: number): Task {
  if (isEnded(task)) return task
  const progress = Math.max(task.progress, Math.min(reading.progress ?? 0, 99))
  const running = state === 'running' || task.state === 'running' || progress > 0
  const moved = progress > task.progress || (running && task.state !== 'running')
  return {
    ...task,
    state: running ? 'running' : 'queued',
    progress,
    artifacts: reading.artifacts.length === 0 ? task.artifacts : reading.artifacts,
    ...(running && task.started === undefined ? { started: now } : {}),
    moved: moved ? now : Math.min(task.moved + silent, now),
    heard: now,
  }
}

function succeeded(task: Task, { artifacts }: Reading, { retention }: TaskShape, now: number): Task {
  const { error, ...rest } = task
  return {
    ...rest,
    phase: 'done',
    state: 'succeeded',
    progress: 100,
    artifacts,
    started: task.started ?? now,
    finished: now,
    moved: now,
    expires: now + retention,
    ...(task.phase === 'late' || error?.code === 'deadline' ? { late: true as const } : {}),
  }
}

function failWith(
  task: Task,
  { error }: Reading,
  why: Failure,
  now: number,
  shape: TaskShape,
  state: 'failed' | 'cancelled' = 'failed',
): Task {
  return ended(
    task,
    state,
    { code: error?.code ?? why, message: error?.message ?? FAILURES[why] },
    now,
    shape.retention,
  )
}

/** The task as ended by the gateway itself. A task that has ended already does not change. */
export function fail(task: Task, why: Failure, now: number, keep: number): Task {
  if (isEnded(task) && task.phase !== 'late') return task
  const state = why === 'cancelled' ? 'cancelled' : 'failed'
  return ended(task, state, { code: why, message: FAILURES[why] }, now, keep)
}

function ended(
  task: Task,
  state: 'failed' | 'cancelled',
  error: NonNullable<Task['error']>,
  now: number,
  keep: number,
): Task {
  // It is `late` and stays failed.
  if (isEnded(task)) return { ...task, phase: 'done' }
  return { ...task, phase: 'done', state, error, finished: now, moved: now, expires: now + keep }
}

/** The failed task if its time is over; undefined if not. */
export function overdue(task: Task, shape: TaskShape, now: number): Task | undefined {
  if (isEnded(task)) return undefined
  if (now >= task.deadline) return pastDeadline(task, shape, now)
  // Only times in which the upstream was heard count: a failed poll is not a stall.
  if (shape.stall === undefined || (task.heard ?? task.moved) - task.moved < shape.stall) return undefined
  return fail(task, 'stalled', now, shape.retention)
}

/** The failed task if its deadline is over; undefined if not, or if it is no longer followed. */
export function pastDeadline(task: Task, shape: TaskShape, now: number): Task | undefined {
  if (task.phase !== 'open' || now < task.deadline) return undefined
  const failed = fail(task, task.unkept === true ? 'not_kept' : 'deadline', now, shape.retention)
  return shape.grace > 0 ? { ...failed, phase: 'late' } : failed
}

/** The task after a failed poll. `miss`: the failure if the upstream said that there is no such task. */
export function applyFailedPoll(
  task: Task,
  miss: Failure | undefined,
  shape: TaskShape | undefined,
  now: number,
): Task {
  const { unkept: _, ...known } = task
  const next: Task = { ...known, faults: task.faults + 1, misses: miss === undefined ? 0 : task.misses + 1 }
  if (miss === undefined || next.misses < MAX_MISSES) return next
  return fail(next, miss, now, shape?.retention ?? DEFAULT_RETENTION_MS)
}

/** For targets that are no longer configured, milliseconds. */
const DEFAULT_RETENTION_MS = 24 * 3_600_000

/** Time of a task's next poll, or null for never. */
export function nextPollAt(
  task: Task,
  shape: TaskShape,
  now: number,
  wait: number | undefined,
  random: number,
): number | null {
  const { every, slowest } = shape.poll
  switch (task.phase) {
    case 'open':
    case 'late': {
      // An upstream that says that there is no such task works well, and is polled at the usual pace.
      const troubles = task.misses > 0 ? 0 : Math.min(task.faults, 16)
      const pause = Math.min(every * 2 ** troubles, slowest)
      const delay = task.phase === 'late' ? slowest : pause
      // A tenth to either side keeps tasks that began together apart.
      const next = now + Math.max(delay * (0.9 + random * 0.2), wait ?? 0)
      const end = task.phase === 'late' ? task.deadline + shape.grace : task.deadline
      if (task.phase === 'late' && now >= end) return null
      return Math.min(next, end)
    }
    case 'done':
      return null
    default:
      return now + slowest
  }
}
