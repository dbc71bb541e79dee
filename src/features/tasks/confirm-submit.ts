import { setTimeout as sleep } from 'node:timers/promises'
import { GatewayError } from '../../core/errors.js'
import type { TaskRecords } from './host.js'
import type { Task } from './record.js'
import type { TaskEntry } from './repository.js'

/** How long to retry the write of an accepted submit while the store is unavailable, milliseconds. */
export const CONFIRM_RETRY_MS = 30_000
/** Pauses between two attempts to write it, milliseconds. */
const PAUSE_MS = { first: 100, longest: 500 }

/** The result of recording an accepted submit. */
export type Confirmation =
  | { readonly type: 'begun'; readonly entry: TaskEntry }
  /** The upstream may have begun it. */
  | { readonly type: 'open' }
  /** Its client has deleted it meanwhile. */
  | { readonly type: 'gone' }

/**
 * Records that an upstream accepted a task, and retries while the store is unavailable. `begun` computes the new task from
 * the record's present content. `first`: time of the first poll, milliseconds since the epoch.
 */
export async function confirmSubmit(
  tasks: TaskRecords,
  entry: TaskEntry,
  begun: (task: Task) => Task,
  first: number,
): Promise<Confirmation> {
  const { kind, owner, id } = entry.task
  const find = (): Promise<TaskEntry | undefined> => tasks.repository.findWithDeleted(kind, owner, id)
  const confirmed = await whileStoreFails(tasks, entry, async (present): Promise<Confirmation> => {
    for (let known = present ?? (await find()); known !== undefined; known = await find()) {
      const saved = await saveOnce(tasks, known, begun, first)
      // Otherwise the record was changed in the meantime: the task was given up or deleted.
      if (saved !== undefined)
        return saved.task.phase === 'deleting' ? { type: 'gone' } : { type: 'begun', entry: saved }
    }
    return { type: 'gone' }
  })
  return confirmed ?? { type: 'open' }
}

/**
 * Repeats writes that may be repeated while the store is unavailable; undefined if it stays so. `write` gets the record as it is
 * known, and nothing after a fault: whether it was written is unknown then.
 */
export async function whileStoreFails<T>(
  { host }: TaskRecords,
  entry: TaskEntry,
  write: (known: TaskEntry | undefined) => Promise<T>,
): Promise<T | undefined> {
  let known: TaskEntry | undefined = entry
  const until = Date.now() + CONFIRM_RETRY_MS
  for (let pause = PAUSE_MS.first; ; pause = Math.min(2 * pause, PAUSE_MS.longest)) {
    try {
      return await write(known)
    } catch (error) {
      if (!isStoreFault(error)) throw error
      known = undefined
      host.onStoreFault(error)
      if (Date.now() + pause > until) return undefined
    }
    await sleep(pause)
  }
}

async function saveOnce(
  tasks: TaskRecords,
  known: TaskEntry,
  begun: (task: Task) => Task,
  first: number,
): Promise<TaskEntry | undefined> {
  const next = begun(known.task)
  const isWritten = known.task.upstreamId !== undefined && known.task.upstreamId === next.upstreamId
  if (isWritten || known.task.state === 'succeeded') {
    tasks.wake(known.task.kind, known.record.due ?? null)
    return known
  }
  if (next.phase === 'deleting') return await tasks.save(known, next, Date.now())
  return await tasks.save(known, next, next.phase === 'done' ? null : first)
}

/** Whether the error says that the store is unavailable. */
export function isStoreFault(error: unknown): error is GatewayError {
  return error instanceof GatewayError && error.details.phase === 'store'
}
