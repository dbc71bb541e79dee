import type { Held } from '../core/secret-managers.js'
import type { History, PastDocument } from './history.js'
import type { LoadedPlan, Running } from './load.js'

/** Who asks for a reload: a person or program, or the console, which has written the file. */
export type Asker = 'reload' | 'console'

/** How a gateway gets plans, and what serves at the moment. */
export interface PlanSource {
  /** What the files said when they were last read, problems included. */
  readonly loaded: LoadedPlan
  /** What serves, and what it was compiled from. */
  readonly running: Running
  /** Follows the files of `loaded` from now on. */
  follow(loaded: LoadedPlan): Promise<void>
  /** Reads the files again. `by`: who asks. Without a plan in what it resolves with, nothing has changed. */
  reload(by?: Asker): Promise<LoadedPlan>
  /** The generations of the process, the newest first. */
  history(): Promise<ReturnType<History['list']>>
  /**
   * Serves again what the files of the configuration said at that generation, as a new one. They stay as they are, and are read
   * again when they change, or when someone asks for it. Undefined: the generation is no longer known.
   */
  rollback(number: number): Promise<LoadedPlan | undefined>
  /** What the files said at that generation, the main one first; undefined where it is no longer known. */
  pastDocuments(number: number): Promise<readonly PastDocument[] | undefined>
  /** What is known of secrets in managers, by their ids; nothing is fetched. */
  held(): Promise<ReadonlyMap<string, Held>>
  /** Keys of the store have limits: from now on requests are counted, also if the files have none. */
  count(): Promise<void>
  /** A rotated secret may have been missed; it is looked for once a generation. `upstream`: who refused it, if that is known. */
  rereadSecrets(upstream?: string): void
  close(): Promise<void>
}
