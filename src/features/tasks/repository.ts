import { createHash } from 'node:crypto'
import { isObject, parseJson } from '../../core/json.js'
import { isNamespace, type Place, type Range, type ScanRange, type Store, type StoredRecord } from '../../core/store.js'
import { stored } from '../../kernel/stored.js'
import { decodeTask, encodeTask, isTaskId, type Task } from './record.js'

/** A task with its record's version, needed to change it. */
export interface TaskEntry {
  readonly task: Task
  readonly record: StoredRecord
}

interface TaskPage {
  readonly entries: readonly TaskEntry[]
  readonly more: boolean
}

/** What an `Idempotency-Key` points to. */
export interface Claimed {
  readonly id: string
  /** Of the first request with the key. */
  readonly digest: string
}

/** How long such keys are kept, milliseconds. */
export const KEY_RETENTION_MS = 24 * 3_600_000
const KEYS_NAMESPACE = 'task-keys'

/** Sorts after all tasks of an owner. */
const BEHIND = { created: Number.MAX_SAFE_INTEGER, key: '~' }

/** Has the positions of deleted tasks. */
const GONE_NAMESPACE = 'tasks-gone'
/** Of letters, since namespaces have no digits: 80 bits. */
const HASH_CHARS = 20

/** Namespace of a kind's tasks. Kinds may have names that no namespace may have. */
export function namespaceOf(kind: string): string {
  const namespace = `tasks-${kind}`
  if (isNamespace(namespace) && namespace !== GONE_NAMESPACE) return namespace
  const hash = createHash('sha256').update(kind).digest('hex').slice(0, HASH_CHARS)
  return `task-kind-${hash.replace(/./g, digit => LETTERS.charAt(Number.parseInt(digit, 16)))}`
}

const LETTERS = 'abcdefghijklmnop'

/** Where the position of a deleted task is kept. */
export function positionPlace({ kind, owner, id }: Pick<Task, 'kind' | 'owner' | 'id'>): Place {
  return { namespace: GONE_NAMESPACE, owner, key: `${kind}.${id}` }
}

/** Tasks in the store. Store faults become `unavailable` errors. */
export class TaskRepository {
  readonly store: Store

  constructor(store: Store) {
    this.store = store
  }

  async create(task: Task, due: number, expires: number): Promise<TaskEntry> {
    const { kind, owner, id: key, created } = task
    const draft = { namespace: namespaceOf(kind), owner, key, created, expires, due, value: encodeTask(task) }
    const record = await stored(this.store.create(draft))
    if (record === undefined) throw new Error('an id of 128 random bits was taken')
    return { task, record }
  }

  /** Undefined if the owner has no such task. */
  async find(kind: string, owner: string, id: string): Promise<TaskEntry | undefined> {
    const entry = await this.findWithDeleted(kind, owner, id)
    return entry?.task.phase === 'deleting' ? undefined : entry
  }

  /** Also finds tasks that their clients have deleted. */
  async findWithDeleted(kind: string, owner: string, id: string): Promise<TaskEntry | undefined> {
    const record = await this.record(kind, owner, id)
    return record && entryOf(record)
  }

  /**
   * Finds a task of any owner, for operators. Reads one record per owner (as many as keys) instead of every task's.
   */
  async findForAnyOwner(kind: string, id: string): Promise<TaskEntry | undefined> {
    if (!isTaskId(id)) return undefined
    for await (const owner of this.owners(kind)) {
      const entry = await this.find(kind, owner, id)
      if (entry !== undefined) return entry
    }
    return undefined
  }

  /** Those who have tasks of a kind; reads one record for each. */
  async *owners(kind: string): AsyncGenerator<string, void> {
    for (let after: ScanRange['after']; ; ) {
      const range = { limit: 1, ...(after === undefined ? {} : { after }) }
      const [first] = await stored(this.store.scan(namespaceOf(kind), range))
      if (first === undefined) return
      yield first.owner
      after = { owner: first.owner, ...BEHIND }
    }
  }

  /** Tasks of all owners, at most `most`, read a page at a time. Tasks that their clients have deleted are not among them. */
  async *survey(kind: string, most: number, page: number, from?: ScanRange['after']): AsyncGenerator<TaskEntry, void> {
    let after = from
    for (let left = most; left > 0; left -= page) {
      const limit = Math.min(page, left)
      const records = await stored(this.store.scan(namespaceOf(kind), { limit, ...(after !== undefined && { after }) }))
      for (const record of records) {
        const entry = entryOf(record)
        if (entry !== undefined && entry.task.phase !== 'deleting') yield entry
      }
      after = records.at(-1)
      if (records.length < limit) return
    }
  }

  /** The task's record, not decoded. */
  async record(kind: string, owner: string, id: string): Promise<StoredRecord | undefined> {
    return isTaskId(id) ? await stored(this.store.get(namespaceOf(kind), owner, id)) : undefined
  }

  /** Undefined if the record was changed meanwhile. `due` null: the task needs no further work. */
  async replace(
    { record }: TaskEntry,
    task: Task,
    due: number | null,
    expires?: number,
  ): Promise<TaskEntry | undefined> {
    const change = { value: encodeTask(task), due, ...(expires === undefined ? {} : { expires }) }
    const next = await stored(this.store.replace(record, change))
    return next && { task, record: next }
  }

  /** Deletes the record; false if it was changed meanwhile. */
  async remove({ record }: TaskEntry): Promise<boolean> {
    return await stored(this.store.delete(record))
  }

  /** Changes a task, and tries again after concurrent changes; `change` returns undefined if there is nothing to change. */
  async update(
    entry: TaskEntry,
    change: (task: Task) => { readonly task: Task; readonly due: number | null; readonly expires?: number } | undefined,
  ): Promise<TaskEntry | undefined> {
    for (let known: TaskEntry | undefined = entry; known !== undefined; ) {
      const next = change(known.task)
      if (next === undefined) return known
      const changed = await this.replace(known, next.task, next.due, next.expires)
      if (changed !== undefined) return changed
      known = await this.findWithDeleted(known.task.kind, known.task.owner, known.task.id)
    }
    return undefined
  }

  /** The owner's tasks without deleted ones. */
  async list(kind: string, owner: string, { order, after, limit }: Range): Promise<TaskPage> {
    const entries: TaskEntry[] = []
    for (let from = after; ; ) {
      const range = { order, limit: limit + 1, ...(from === undefined ? {} : { after: from }) }
      const records = await stored(this.store.list(namespaceOf(kind), owner, range))
      entries.push(...records.flatMap(record => entryOf(record) ?? []).filter(({ task }) => task.phase !== 'deleting'))
      from = records.at(-1)
      if (entries.length > limit || records.length <= limit) break
    }
    return { entries: entries.slice(0, limit), more: entries.length > limit }
  }

  /** What a client's key points to. */
  async claimed(owner: string, key: string): Promise<Claimed | undefined> {
    const record = await stored(this.store.get(KEYS_NAMESPACE, owner, nameOf(key)))
    return record && claimedOf(record)
  }

  /**
   * Points a client's key to a task if the key is free or, with `before`, if it still points to that task. False if another
   * request was faster.
   */
  async claimKey(owner: string, key: string, claim: Claimed, before?: Claimed): Promise<boolean> {
    const name = nameOf(key)
    const now = Date.now()
    const kept = { expires: now + KEY_RETENTION_MS, value: Buffer.from(JSON.stringify(claim)) }
    if (before === undefined) {
      const draft = { namespace: KEYS_NAMESPACE, owner, key: name, created: now, ...kept }
      return (await stored(this.store.create(draft))) !== undefined
    }
    const record = await stored(this.store.get(KEYS_NAMESPACE, owner, name))
    if (record === undefined || claimedOf(record)?.id !== before.id) return false
    return (await stored(this.store.replace(record, kept))) !== undefined
  }

  /** Frees a client's key if it points to this task, which was never begun. */
  async freeKey(owner: string, key: string, id: string): Promise<void> {
    const record = await stored(this.store.get(KEYS_NAMESPACE, owner, nameOf(key)))
    if (record !== undefined && claimedOf(record)?.id === id) await stored(this.store.delete(record))
  }
}

function nameOf(key: string): string {
  return createHash('sha256').update(key).digest('hex')
}

export function entryOf(record: StoredRecord): TaskEntry | undefined {
  const task = decodeTask(record.value)
  return task && { task, record }
}

function claimedOf({ value }: StoredRecord): Claimed | undefined {
  const json = parseJson(Buffer.from(value).toString('utf8'))
  return isObject(json) && typeof json.id === 'string' && typeof json.digest === 'string'
    ? { id: json.id, digest: json.digest }
    : undefined
}
