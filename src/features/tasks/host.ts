import type { Store } from '../../core/store.js'
import type { Generation } from '../../kernel/generation.js'
import type { CallWatcher, TaskObserver } from '../../kernel/outside-call.js'
import type { TaskEnd, TaskNotes } from '../../kernel/task-end.js'
import type { Task } from './record.js'
import type { TaskEntry, TaskRepository } from './repository.js'
import type { Results } from './results.js'

/** What tasks need of their process. */
export interface TaskHost {
  readonly generation: Generation
  /** The current generation, then those that requests may begin tasks in beside it. */
  readonly ready: readonly Generation[]
  readonly store: Store
  /** The store failed. */
  onStoreFault(error: unknown): void
  /** Reports a task's end to the features that left notes on it. Rejects if it must be reported again. */
  taskEnded(end: Omit<TaskEnd, 'kept'>, values: TaskNotes): Promise<void>
  /** Looks on at calls about tasks, and at notifications. */
  readonly watchCall: CallWatcher
  readonly observeTask: TaskObserver
  /** An upstream refused the gateway's own credential. */
  onRefusedCredential(upstream: string): void
}

/** Who calls an upstream about a task. */
export type TaskAsker = Pick<TaskHost, 'generation' | 'watchCall' | 'observeTask'>

/** Task records, and the operations that modules of this folder share. */
export interface TaskRecords {
  readonly host: TaskHost
  readonly repository: TaskRepository
  readonly results: Results
  wake(kind: string, due: number | null): void
  save(entry: TaskEntry, task: Task, due: number | null): Promise<TaskEntry | undefined>
  /** Reports a task's end to features; does not change the record. */
  reportEnd(task: Task): Promise<void>
}
