import type { Scope } from '../core/bounds.js'
import type { Config } from '../core/config.js'
import type { Caller } from '../core/plan.js'
import type { Problem } from '../core/problems.js'
import type { ShownLimit } from '../features/limits/usage.js'
import type { Kernel } from '../kernel/kernel.js'
import type { StoredKey } from '../kernel/keys/record.js'
import type { Task } from '../kernel/tasks/record.js'
import type { CompiledPlan } from '../plan/compile.js'

/** The gateway as the admin API sees it. */
export interface AdminHost {
  readonly kernel: Kernel
  /** Those that serve new requests. */
  readonly plan: CompiledPlan
  readonly config: Config
  /** The caller that a key of the store is here; undefined where its terms do not fit. */
  callerOf(key: StoredKey): Caller | undefined
  /** What is wrong with the terms of a key, by the rules of the file. */
  faultsOf(name: string, terms: Readonly<Record<string, unknown>>): readonly string[]
  /** Reads the files again. Problems with an error: nothing has changed. */
  reload(): Promise<{ readonly isValid: boolean; readonly problems: readonly Problem[] }>
  /** Finishes what is open and ends the process. */
  drain(): void
  /** For each scope, its bounds and how much of them is used. Rejects with the store's error. */
  limits(scopes: readonly Scope[]): Promise<readonly (readonly ShownLimit[])[]>
  /** Tasks behind a cursor, at most so many; undefined where the text is not a cursor. */
  tasks(filter: TaskQuery, limit: number, after: string | undefined): Promise<Page<Task> | undefined>
}

/** Which tasks to list; absent members do not restrict the list. */
interface TaskQuery {
  readonly kind?: string
  readonly owner?: string
  readonly state?: string
  readonly model?: string
  readonly upstream?: string
}

export interface Page<T> {
  readonly data: readonly T[]
  /** `after` of the next page; absent: this is the last one. */
  readonly next?: string | undefined
}
