import { createHash } from 'node:crypto'
import { isObject, parseJson } from '../../core/json.js'
import type { Range, Store, StoredRecord } from '../../core/store.js'
import type { TaskKind } from '../../core/task.js'
import { stored } from '../state/faults.js'
import { decodeTask, encodeTask, isTaskId, type Task } from './record.js'

/** A task and the record that it stands in, so that it can be changed. */
export interface Entry {
  readonly task: Task
  readonly record: StoredRecord
}

export interface Page {
  readonly entries: readonly Entry[]
  readonly more: boolean
}

/** What a client's own key for a request led to. */
export interface Claimed {
  readonly id: string
  /** Of the request that came with it first. */
  readonly digest: string
}

/** How long such keys are remembered, milliseconds. */
const KEEP_KEYS = 24 * 3_600_000
const KEYS = 'task-keys'

/** Where tasks of a kind stand. */
export function namespaceOf(kind: TaskKind): string {
  return `tasks-${kind}`
}

/** Tasks in the store. What the store cannot do is `unavailable` to clients. */
export class TaskBook {
  readonly store: Store

  constructor(store: Store) {
    this.store = store
  }

  async create(task: Task, due: number, expires: number): Promise<Entry> {
    const { kind, owner, id: key, created } = task
    const draft = { namespace: namespaceOf(kind), owner, key, created, expires, due, value: encodeTask(task) }
    const record = await stored(this.store.create(draft))
    if (record === undefined) throw new Error('an id of 128 random bits was taken')
    return { task, record }
  }

  /** Undefined where the owner has no such task. */
  async find(kind: TaskKind, owner: string, id: string): Promise<Entry | undefined> {
    const entry = await this.look(kind, owner, id)
    return entry?.task.phase === 'deleting' ? undefined : entry
  }

  /** The same, those included that clients do not see any more. */
  async look(kind: TaskKind, owner: string, id: string): Promise<Entry | undefined> {
    const record = await this.record(kind, owner, id)
    return record && entryOf(record)
  }

  /** What a task stands in, unread. */
  async record(kind: TaskKind, owner: string, id: string): Promise<StoredRecord | undefined> {
    return isTaskId(id) ? await stored(this.store.get(namespaceOf(kind), owner, id)) : undefined
  }

  /** Undefined where somebody else has changed the task meanwhile. `due` null: nobody has to look at it any more. */
  async replace({ record }: Entry, task: Task, due: number | null, expires?: number): Promise<Entry | undefined> {
    const change = { value: encodeTask(task), due, ...(expires === undefined ? {} : { expires }) }
    const next = await stored(this.store.replace(record, change))
    return next && { task, record: next }
  }

  /** Takes a task out altogether. */
  async remove({ record }: Entry): Promise<void> {
    await stored(this.store.delete(record))
  }

  /** Changes a task whatever comes between; `change` answers undefined where there is nothing to be changed. */
  async update(
    entry: Entry,
    change: (task: Task) => { readonly task: Task; readonly due: number | null; readonly expires?: number } | undefined,
  ): Promise<Entry | undefined> {
    for (let known: Entry | undefined = entry; known !== undefined; ) {
      const next = change(known.task)
      if (next === undefined) return known
      const changed = await this.replace(known, next.task, next.due, next.expires)
      if (changed !== undefined) return changed
      known = await this.look(known.task.kind, known.task.owner, known.task.id)
    }
    return undefined
  }

  /** The owner's tasks, those left out that have been deleted. */
  async list(kind: TaskKind, owner: string, { order, after, limit }: Range): Promise<Page> {
    const entries: Entry[] = []
    for (let from = after; ; ) {
      const range = { order, limit: limit + 1, ...(from === undefined ? {} : { after: from }) }
      const records = await stored(this.store.list(namespaceOf(kind), owner, range))
      entries.push(...records.flatMap(record => entryOf(record) ?? []).filter(({ task }) => task.phase !== 'deleting'))
      from = records.at(-1)
      if (entries.length > limit || records.length <= limit) break
    }
    return { entries: entries.slice(0, limit), more: entries.length > limit }
  }

  /** Notes which task a client's key for a request leads to. Gives what it led to before, if anything. */
  async claimKey(owner: string, key: string, claim: Claimed): Promise<Claimed | undefined> {
    const place = { namespace: KEYS, owner, key: createHash('sha256').update(key).digest('hex') }
    const now = Date.now()
    const value = Buffer.from(JSON.stringify(claim))
    const created = await stored(this.store.create({ ...place, created: now, expires: now + KEEP_KEYS, value }))
    if (created !== undefined) return undefined
    const record = await stored(this.store.get(KEYS, owner, place.key))
    return record === undefined ? this.claimKey(owner, key, claim) : claimedOf(record)
  }

  /** Lets a client's key lead to another task, where the one that it led to never came to be. */
  async renewKey(owner: string, key: string, before: Claimed, claim: Claimed): Promise<boolean> {
    const name = createHash('sha256').update(key).digest('hex')
    const record = await stored(this.store.get(KEYS, owner, name))
    if (record === undefined || claimedOf(record)?.id !== before.id) return false
    return (await stored(this.store.replace(record, { value: Buffer.from(JSON.stringify(claim)) }))) !== undefined
  }

  /** Lets a client's key be used anew, for a request that came to nothing. */
  async freeKey(owner: string, key: string): Promise<void> {
    const name = createHash('sha256').update(key).digest('hex')
    await stored(this.store.delete({ namespace: KEYS, owner, key: name }))
  }
}

export function entryOf(record: StoredRecord): Entry | undefined {
  const task = decodeTask(record.value)
  return task && { task, record }
}

function claimedOf({ value }: StoredRecord): Claimed | undefined {
  const json = parseJson(Buffer.from(value).toString('utf8'))
  return isObject(json) && typeof json.id === 'string' && typeof json.digest === 'string'
    ? { id: json.id, digest: json.digest }
    : undefined
}
