import type { Json, JsonObject } from '../core/json.js'

/** The end of a task, for features that left notes on it. Times in milliseconds since the epoch. */
export interface TaskEnd {
  readonly id: string
  /** Id of the submit, which differs from `id` if an upstream continued an older task. What is settled once is settled under it. */
  readonly submit: string
  readonly kind: string
  /** Name of the caller's key. */
  readonly owner: string
  /** Id of its route. */
  readonly route: string
  /** The model's name, as the client and as the upstream knows it. */
  readonly model: string
  readonly target: string
  readonly upstream: string
  /** The request's values that the task's record shows: seconds, size, count. */
  readonly input: JsonObject
  /** What the upstream said of it, by the names of the declared fields. */
  readonly fields: JsonObject
  /** `cancelled`: by its client, who may have deleted it before it ended. */
  readonly state: 'succeeded' | 'failed' | 'cancelled'
  /** Error code of a failed task. */
  readonly code: string | undefined
  /** Number of its results. */
  readonly artifacts: number
  readonly created: number
  readonly finished: number
  /** Number of the generation in which it began. */
  readonly generation: number
  /** The feature's note on the task. */
  readonly kept: Json
}

/** Notes of features on a task, by feature's name. */
export type TaskNotes = Readonly<Record<string, Json>>
