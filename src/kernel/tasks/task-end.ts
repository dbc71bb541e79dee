import type { Json, JsonObject } from '../../core/json.js'
import { isEnded, type Notes, type Task } from './record.js'

/** A task that has ended, for a feature that keeps something with it. Times in milliseconds since the epoch. */
export interface TaskEnd {
  readonly id: string
  /** Id of the submit: another one where an upstream went on with an older task. What is settled once, is settled under it. */
  readonly submit: string
  readonly kind: string
  /** Name of the caller's key. */
  readonly owner: string
  /** Id of the route on which it began. */
  readonly route: string
  /** As the client named it, and as the upstream does. */
  readonly model: string
  readonly target: string
  readonly upstream: string
  /** What was asked for, as far as the task's record shows it: seconds, size, count. */
  readonly input: JsonObject
  /** `cancelled`: by its client, who may have deleted it before it ended. */
  readonly state: 'succeeded' | 'failed' | 'cancelled'
  /** Code of the error of one that failed. */
  readonly code: string | undefined
  /** How many things it made. */
  readonly artifacts: number
  readonly created: number
  readonly finished: number
  /** Of the configuration under which it began. */
  readonly generation: number
  /** What the feature keeps with it. */
  readonly kept: Json
}

export function endOf(task: Task, { submit }: Notes): Omit<TaskEnd, 'kept'> {
  const { id, kind, owner, route, model, target, input, artifacts, created, generation } = task
  return {
    ...{ id, submit, kind, owner, route, model, input, created, generation },
    target: target?.model ?? model,
    upstream: target?.upstream ?? '',
    state: isEnded(task) ? (task.state as TaskEnd['state']) : 'cancelled',
    code: task.error?.code,
    artifacts: artifacts.length,
    finished: task.finished ?? Date.now(),
  }
}
