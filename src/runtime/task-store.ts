import type { Plan } from '../core/plan.js'
import type { ScanRange, Store } from '../core/store.js'
import { withNotification } from '../features/tasks/notice.js'
import { type NoticeState, noticeOf } from '../features/tasks/notices.js'
import { presenterNamed } from '../features/tasks/presenters/index.js'
import { isEnded, type Task } from '../features/tasks/record.js'
import { entryOf, namespaceOf, type TaskEntry, TaskRepository } from '../features/tasks/repository.js'
import { cancelled, recordExpiry } from '../features/tasks/tasks.js'
import { StartError } from './problems.js'
import { openStore } from './stores.js'

export { isEnded, type Task } from '../features/tasks/record.js'

import { DIRECT } from '../features/tasks/view.js'

/** Which tasks to list; absent members do not restrict the list. */
export interface TaskFilter {
  readonly kind?: string
  readonly owner?: string
  readonly state?: Task['state']
  readonly model?: string
  readonly upstream?: string
}

/** A part of the tasks; `next` where there may be more. */
interface TaskPage {
  readonly data: readonly Task[]
  readonly next?: string
}

/** The task at which a page ended. */
interface Cursor extends NonNullable<ScanRange['after']> {
  readonly kind: string
}

/** Records that are read at a time. */
const PAGE_RECORDS = 500

/** The tasks of a gateway, for those who look after it. It may run meanwhile, or not. */
export class TaskStore {
  readonly #book: TaskRepository
  readonly #plan: Plan

  /** Of a running gateway. */
  static of(store: Store, plan: Plan): TaskStore {
    return new TaskStore(new TaskRepository(store), plan)
  }

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

  /** At most so many of them behind a cursor, which is the `next` of the page before; undefined if the cursor is invalid. */
  async page(filter: TaskFilter, limit: number, after: string | undefined): Promise<TaskPage | undefined> {
    const from = after === undefined ? undefined : decodeCursor(after)
    if (after !== undefined && from === undefined) return undefined
    const data: Task[] = []
    for await (const { task, record } of this.entries(filter, from)) {
      data.push(task)
      const { kind } = task
      const { owner, created, key } = record
      if (data.length === limit) return { data, next: encodeCursor({ kind, owner, created, key }) }
    }
    return { data }
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

  private async *entries({ kind, ...filter }: TaskFilter, from?: Cursor): AsyncGenerator<TaskEntry, void, void> {
    const { owner, state, model, upstream } = filter
    const kinds = kind === undefined ? [...this.#plan.taskKinds.keys()] : [kind]
    for (const one of kinds.slice(Math.max(0, kinds.indexOf(from?.kind ?? '')))) {
      const namespace = namespaceOf(one)
      let after: ScanRange['after'] | undefined = from?.kind === one ? from : undefined
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

function encodeCursor(cursor: Cursor): string {
  return Buffer.from(JSON.stringify(cursor)).toString('base64url')
}

/** Undefined if the text is invalid. */
function decodeCursor(text: string): Cursor | undefined {
  try {
    const { kind, owner, created, key } = JSON.parse(Buffer.from(text, 'base64url').toString('utf8'))
    if (typeof kind !== 'string' || typeof owner !== 'string' || typeof key !== 'string') return undefined
    return Number.isSafeInteger(created) ? { kind, owner, created, key } : undefined
  } catch {
    return undefined
  }
}
