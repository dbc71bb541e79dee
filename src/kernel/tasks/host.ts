import type { Store } from '../../core/store.js'
import type { Generation } from '../generation.js'
import type { TaskEnd, TaskNotes } from '../task-end.js'
import type { Task } from './record.js'
import type { TaskEntry, TaskRepository } from './repository.js'
import type { Results } from './results.js'

/** What tasks need of the process that they live in. */
export interface TaskHost {
  /** The plan that serves now. */
  readonly generation: Generation
  readonly store: Store
  readonly tasks: TaskRecords
  /** Something could not be kept. */
  onStoreFault(error: unknown): void
  /** Reports a task's end to the features that keep something with it. Rejects if it must be reported again. */
  taskEnded(end: Omit<TaskEnd, 'kept'>, values: TaskNotes): Promise<void>
  /** An upstream refused the gateway's own credential. */
  onRefusedCredential(): void
}

/** The records of tasks, and what became of them. */
interface TaskRecords {
  readonly repository: TaskRepository
  readonly results: Results
  wake(kind: string, due: number | null): void
  save(entry: TaskEntry, task: Task, due: number | null): Promise<TaskEntry | undefined>
  /** Reports its end to features, and does nothing else. */
  tellEnd(task: Task): Promise<void>
}
