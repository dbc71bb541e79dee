import type { Json, JsonObject } from '../core/json.js'

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

/** What features keep with a task, by their names. */
export type TaskNotes = Readonly<Record<string, Json>>
