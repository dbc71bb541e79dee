import { randomUUID } from 'node:crypto'
import { LruCache } from '../../core/lru.js'
import type { Store } from '../../core/store.js'
import type { TaskEnd } from '../../kernel/task-end.js'
import { REMEMBERED_MS } from './flight.js'

const NAMESPACE = 'task-charged'
/** Most tasks that this process remembers are twice as many. */
const HALF_REMEMBERED = 1000

/**
 * Which process reports what a task has cost. The end of a task comes again, here or in another process, while the store is slow
 * or fails, and after a process was killed. A process that dies between its mark and its report has reported nothing.
 */
export class ChargedTasks {
  readonly #reported = new LruCache<true>(HALF_REMEMBERED)
  readonly #process = randomUUID()
  readonly #store: Store | undefined

  /** `store`: absent where no other process uses it. */
  constructor(store: Store | undefined) {
    this.#store = store
  }

  /** Whether the caller is to report the task, now. Rejects with the store's error; call it again then. */
  async take({ submit, owner }: Pick<TaskEnd, 'submit' | 'owner'>): Promise<boolean> {
    if (this.#reported.get(submit) === true) return false
    if (this.#store !== undefined && (await this.#markOf(this.#store, owner, submit)) !== this.#process) return false
    // The same end may have come twice at once.
    if (this.#reported.get(submit) === true) return false
    this.#reported.set(submit, true)
    return true
  }

  /** The process that marked the task first. */
  async #markOf(store: Store, owner: string, key: string): Promise<string> {
    const place = { namespace: NAMESPACE, owner, key }
    const created = Date.now()
    const value = Buffer.from(this.#process)
    const made = await store.create({ ...place, created, expires: created + REMEMBERED_MS, value })
    const mark = made ?? (await store.get(NAMESPACE, owner, key))
    return mark === undefined ? '' : Buffer.from(mark.value).toString()
  }
}
