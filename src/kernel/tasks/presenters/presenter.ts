import type { GatewayError } from '../../../core/errors.js'
import type { JsonObject } from '../../../core/json.js'
import type { TaskVariant } from '../../../core/task-kind.js'
import type { Task } from '../record.js'

/** How clients reach what tasks made. */
export interface View {
  /** The address of an artefact for clients that send no key with it. Undefined where there is none. */
  link(task: Task, variant: string): string | undefined
}

/** The value of a top-level member of a request, as far as the gateway read it. */
export type Member = (name: string) => unknown

/** How the clients of a family see tasks. Everything else about tasks is the same for all families. */
export interface Presenter {
  /**
   * What records show of a request; `label` is what the route calls its tasks. Throws `invalid_parameter` for what cannot
   * be.
   */
  input(member: Member, label: string | undefined): JsonObject
  /** The record of a task. */
  record(task: Task, view: View): JsonObject
  /** The answer to the request that began the task. */
  begun(task: Task, view: View): JsonObject
  /** Why nothing can be made of a task; undefined where something can, as far as the gateway knows. */
  unfit(task: Task): GatewayError | undefined
  list(tasks: readonly Task[], more: boolean, view: View): object
  deleted(task: Task): JsonObject
  /** The owner has no such task. */
  unknown(id: string): GatewayError
  /** The variant of the content that a client gets who names none, and what those that can be named hold. */
  readonly variants: ReadonlyMap<string, TaskVariant>
  /** Whether there is something to be seen before a task has ended. */
  readonly early: boolean
  /** What is worth telling of a change, where somebody wants to be told. */
  event(before: Task, after: Task): string | undefined
  /** The body of that. `sequence` counts the notifications of a task from 1. */
  notification(task: Task, event: string, sequence: number, now: number, view: View): JsonObject
}
