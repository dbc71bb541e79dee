import type { Plan } from '../core/plan.js'
import type { ScanRange, Store } from '../core/store.js'
import { withNotification } from '../features/tasks/notice.js'
import { type NoticeState, noticeOf } from '../features/tasks/notices.js'
import { presenterNamed } from '../features/tasks/presenters/index.js'
import { isEnded, type Task } from '../features/tasks/record.js'
import { type TaskEntry, TaskRepository } from '../features/tasks/repository.js'
import { cancelled, recordExpiry } from '../features/tasks/tasks.js'
import { StartError } from './problems.js'
import { openStore } from './stores.js'

export { isEnded, type Task } from '../features/tasks/record.js'

import { DIRECT } from '../features/tasks/view.js'

/** Which tasks to list; absent members do not restrict the list. */
export interface TaskFilter {
  readonly id?: string
  readonly order?: 'newest'
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
/** Records of a kind that are read for the newest tasks, about. */
const MAX_RECORDS = 5000

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
    if (filter.id !== undefined) return { data: [(await this.find(filter.id, filter.owner)) ?? []].flat() }
    if (filter.order === 'newest') return { data: await this.#newest(filter, limit) }
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
      // A running gateway reports the change, and notifies the upstream and the webhooks.
      const notified = withNotification(task, next, now, presenterNamed(this.#plan, task.kind), DIRECT)
      return {
        task: { ...notified, unreported: task.state },
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
    const kinds = kind === undefined ? this.kinds : [kind]
    for (const one of kinds.slice(Math.max(0, kinds.indexOf(from?.kind ?? '')))) {
      const after = from?.kind === one ? from : undefined
      for await (const entry of this.#book.survey(one, Number.POSITIVE_INFINITY, PAGE_RECORDS, after))
        if (fits(entry.task, filter)) yield entry
    }
  }

  /** The newest of all owners, of the last `limit` of each. */
  async #newest({ kind, ...filter }: TaskFilter, limit: number): Promise<readonly Task[]> {
    const found: Task[] = []
    for (const one of kind === undefined ? this.kinds : [kind]) {
      let left = MAX_RECORDS
      for await (const owner of filter.owner === undefined ? this.#book.owners(one) : [filter.owner]) {
        const { entries } = await this.#book.list(one, owner, { order: 'descending', limit })
        found.push(...entries.map(({ task }) => task).filter(task => fits(task, filter)))
        left -= entries.length + 1
        if (left <= 0) break
      }
    }
    return found.sort((first, second) => second.created - first.created).slice(0, limit)
  }
}

function fits(task: Task, { owner, state, model, upstream }: TaskFilter): boolean {
  return (
    (owner ?? task.owner) === task.owner &&
    (state ?? task.state) === task.state &&
    (model ?? task.model) === task.model &&
    (upstream === undefined || upstream === task.target?.upstream)
  )
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
