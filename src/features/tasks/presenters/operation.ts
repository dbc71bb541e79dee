import type { JsonObject } from '../../../core/json.js'
import type { TaskKind } from '../../../core/task-kind.js'
import { isEnded, type Task } from '../record.js'
import { notificationOf, unknownTask } from './object.js'
import type { Presenter, View } from './presenter.js'

/** Numbers of failures (google.rpc.Code), by the upstream's word or ours. Others are internal. */
const CODES: Readonly<Record<string, number>> = {
  cancelled: 1,
  invalid_argument: 3,
  deadline_exceeded: 4,
  deadline: 4,
  expired: 4,
  not_found: 5,
  task_lost: 5,
  permission_denied: 7,
  resource_exhausted: 8,
  failed_precondition: 9,
  unavailable: 14,
}
const INTERNAL = 13

/**
 * Long-running operations of the native interface: until one is over it has nothing but its name, and its progress. The
 * results are those of videos.
 */
export function operationPresenter({ object, title, variants }: TaskKind): Presenter {
  return {
    input: () => ({}),
    record,
    begun: record,
    unfit: task => unknownTask(title, task.id),
    list: (tasks, _more, view) => ({ operations: tasks.map(task => record(task, view)) }),
    deleted: () => ({}),
    unknown: id => unknownTask(title, id),
    variants,
    early: false,
    event: (before, after) =>
      isEnded(after) && before.state !== after.state
        ? `${object}.${after.state === 'succeeded' ? 'completed' : 'failed'}`
        : undefined,
    notification: (task, event, sequence, now, view) => notificationOf(event, sequence, now, record(task, view)),
  }
}

function record(task: Task, view: View): JsonObject {
  const { id, model, state, progress, error } = task
  // A model's name may have characters that mean something in a path.
  const name = `models/${encodeURIComponent(model)}/operations/${id}`
  if (!isEnded(task)) return { name, metadata: { progressPercent: progress } }
  if (state !== 'succeeded') return { name, done: true, error: failureOf(state, error) }
  const uri = view.result(task)
  const samples = [{ video: uri === undefined ? {} : { uri } }]
  return { name, done: true, response: { generateVideoResponse: { generatedSamples: samples } } }
}

function failureOf(state: string, error: Task['error']): JsonObject {
  const code = CODES[(error?.code ?? state).toLowerCase()] ?? CODES[state] ?? INTERNAL
  return { code, message: error?.message ?? state }
}
