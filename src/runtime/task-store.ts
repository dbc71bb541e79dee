import type { Plan } from '../core/plan.js'
import { withNotification } from '../kernel/tasks/notice.js'
import { type NoticeState, noticeOf } from '../kernel/tasks/notices.js'
import { presenterNamed } from '../kernel/tasks/presenters/index.js'
import { isEnded, type Task } from '../kernel/tasks/record.js'
import { entryOf, namespaceOf, type TaskEntry, TaskRepository } from '../kernel/tasks/repository.js'
import { cancelled, recordExpiry } from '../kernel/tasks/tasks.js'
import { StartError } from './problems.js'
import { openStore } from './stores.js'

export { isEnded, type Task } from '../kernel/tasks/record.js'

import { DIRECT } from '../kernel/tasks/view.js'

/** Which tasks to list; absent members do not restrict the list. */
export interface TaskFilter {
  readonly kind?: string
  readonly owner?: string
  readonly state?: Task['state']
  readonly model?: string
  readonly upstream?: string
}

/** Records that are read at a time. */
const PAGE_RECORDS = 500

/** The tasks of a gateway, for those who look after it. It may run meanwhile, or not. */
export class TaskStore {
  readonly #book: TaskRepository
  readonly #plan: Plan

  private constructor(book: TaskRepository, plan: Plan) {
    this.#book = book
    this.#plan = plan
  }

  /** Throws {@link StartError} where the store cannot be opened, or is nowhere but in a running process. */
  static async open(plan: Plan): Promise<TaskStore> {
    if (plan.store.type === 'memory') {
      throw new StartError(
        "tasks are in the gateway's memory (store: { type: memory }), so this command cannot see them",
      )
    }
    return new TaskStore(new TaskRepository(await openStore(plan.store)), plan)
  }

  /** Names of the kinds of tasks that there are. */
  get kinds(): readonly string[] {
    return [...this.#plan.taskKinds.keys()].sort()
  }

  /** Tasks of one owner are adjacent, in the order in which they began. */
  async *list(filter: TaskFilter): AsyncGenerator<Task, void, void> {
    for await (const { task } of this.entries(filter)) yield task
  }

  async find(id: string, owner: string | undefined): Promise<Task | undefined> {
    return (await this.entry(id, owner))?.task
  }

  /** The notifications about a task that were not sent yet. */
  async notice(task: Task): Promise<NoticeState | undefined> {
    return await noticeOf(this.#book.store, task)
  }

  /** The task, cancelled; undefined where there is none. One that has ended stays as it is. */
  async cancel(id: string, owner: string | undefined): Promise<Task | undefined> {
    const entry = await this.entry(id, owner)
    if (entry === undefined || isEnded(entry.task)) return entry?.task
    const now = Date.now()
    const done = await this.#book.update(entry, task => {
      const next = cancelled(task, this.#plan, now)
      if (next === undefined) return undefined
      const expires = next.expires === undefined ? {} : { expires: recordExpiry(next, next.expires) }
      // A running gateway notifies the upstream and the webhooks.
      return {
        task: withNotification(task, next, now, presenterNamed(this.#plan, task.kind), DIRECT),
        due: now,
        ...expires,
      }
    })
    return done?.task
  }

  async close(): Promise<void> {
    await this.#book.store.close()
  }

  private async entry(id: string, owner: string | undefined): Promise<TaskEntry | undefined> {
    for (const kind of this.#plan.taskKinds.keys()) {
      const found =
        owner === undefined ? await this.#book.findForAnyOwner(kind, id) : await this.#book.find(kind, owner, id)
      if (found !== undefined) return found
    }
    return undefined
  }

  private async *entries({ kind, ...filter }: TaskFilter): AsyncGenerator<TaskEntry, void, void> {
    const { owner, state, model, upstream } = filter
    for (const one of kind === undefined ? this.#plan.taskKinds.keys() : [kind]) {
      const namespace = namespaceOf(one)
      let after: TaskEntry['record'] | undefined
      for (;;) {
        const range = { limit: PAGE_RECORDS, ...(after === undefined ? {} : { after }) }
        const records = await this.#book.store.scan(namespace, range)
        for (const entry of records.flatMap(record => entryOf(record) ?? [])) {
          const { task } = entry
          const fits =
            task.phase !== 'deleting' &&
            (owner ?? task.owner) === task.owner &&
            (state ?? task.state) === task.state &&
            (model ?? task.model) === task.model &&
            (upstream === undefined || upstream === task.target?.upstream)
          if (fits) yield entry
        }
        after = records.at(-1)
        if (records.length < PAGE_RECORDS) break
      }
    }
  }
}
