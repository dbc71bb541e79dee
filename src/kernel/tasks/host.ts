import type { Store } from '../../core/store.js'
import type { Generation } from '../generation.js'
import type { Notes, Task } from './record.js'
import type { TaskEntry, TaskRepository } from './repository.js'
import type { Results } from './results.js'
import type { TaskEnd } from './task-end.js'

/** What tasks need of the process that they live in. */
export interface TaskHost {
  /** The plan that serves now. */
  readonly generation: Generation
  readonly store: Store
  readonly tasks: TaskRecords
  /** Something could not be kept. */
  onStoreFault(error: unknown): void
  /** Tells features of a task's end by what they keep with it. Rejects where one of them is to be told again. */
  taskEnded(end: Omit<TaskEnd, 'kept'>, values: Notes['values']): Promise<void>
  /** An upstream refused the gateway's own credential. */
  onRefusedCredential(): void
}

/** The records of tasks, and what became of them. */
interface TaskRecords {
  readonly repository: TaskRepository
  readonly results: Results
  wake(kind: string, due: number | null): void
  save(entry: TaskEntry, task: Task, due: number | null): Promise<TaskEntry | undefined>
  /** Tells features that it has ended, and no more than that. */
  tellEnd(task: Task): Promise<void>
}
