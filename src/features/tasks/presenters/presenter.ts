import type { GatewayError } from '../../../core/errors.js'
import type { JsonObject } from '../../../core/json.js'
import type { TaskVariant } from '../../../core/task-kind.js'
import type { Task } from '../record.js'

/** How clients reach results. */
export interface View {
  /** The address of an artefact for clients that send no key with it. Undefined if there is no such artefact. */
  link(task: Task, variant: string): string | undefined
  /** The same of the usual result of a task that has succeeded. */
  result(task: Task): string | undefined
}

/** The value of a request's top-level member; undefined if absent or not read by the gateway. */
export type Member = (name: string) => unknown

/** How the clients of a family see tasks. All other task logic is the same for all families. */
export interface Presenter {
  /**
   * What records show of a request; `label` is what the route calls its tasks. Throws `invalid_parameter` for invalid
   * values.
   */
  input(member: Member, label: string | undefined): JsonObject
  /** The record of a task. */
  record(task: Task, view: View): JsonObject
  /** The answer to the request that began the task. */
  begun(task: Task, view: View): JsonObject
  /** Why a new task cannot continue this one; undefined if the gateway knows no reason. */
  unfit(task: Task): GatewayError | undefined
  list(tasks: readonly Task[], more: boolean, view: View): object
  deleted(task: Task): JsonObject
  /** The error for an id that the owner has no task of. */
  unknown(id: string): GatewayError
  /** The content's variants with their media types. The first one is the default. */
  readonly variants: ReadonlyMap<string, TaskVariant>
  /** Whether there may be content before a task has ended. */
  readonly early: boolean
  /** The event's name if a change is worth a notification. */
  event(before: Task, after: Task): string | undefined
  /** The notification's body. `sequence` counts a task's notifications from 1. */
  notification(task: Task, event: string, sequence: number, now: number, view: View): JsonObject
}
