import { setTimeout as sleep } from 'node:timers/promises'
import { GatewayError } from '../../core/errors.js'
import type { TaskHost } from './host.js'
import type { Task } from './record.js'
import type { TaskEntry } from './repository.js'

/** How long the answer of an upstream that took a task is kept in memory where the store is gone, milliseconds. */
export const CONFIRM_RETRY_MS = 30_000
/** Pauses between two attempts to write it. */
const PAUSE_MS = { first: 100, longest: 500 }

/** What came of an upstream's taking a task. */
export type Confirmation =
  | { readonly type: 'begun'; readonly entry: TaskEntry }
  /** It may have begun. */
  | { readonly type: 'open' }
  /** Its client has taken it out meanwhile. */
  | { readonly type: 'gone' }

/**
 * Writes what an upstream took. A store that is gone for a moment does not make it forgotten. `begun` is the task as it
 * stands then, made of whatever stands in the record; `first`: when it is to be looked at, milliseconds since the epoch.
 */
export async function confirmSubmit(
  host: TaskHost,
  entry: TaskEntry,
  begun: (task: Task) => Task,
  first: number,
): Promise<Confirmation> {
  const until = Date.now() + CONFIRM_RETRY_MS
  let known: TaskEntry | undefined = entry
  for (let pause = PAUSE_MS.first; ; pause = Math.min(2 * pause, PAUSE_MS.longest)) {
    try {
      // After a fault nobody knows whether it was written.
      known ??= await host.tasks.repository.findWithDeleted(entry.task.kind, entry.task.owner, entry.task.id)
      if (known === undefined) return { type: 'gone' }
      const saved = await saveOnce(host, known, begun, first)
      if (saved !== undefined) {
        return saved.task.phase === 'deleting' ? { type: 'gone' } : { type: 'begun', entry: saved }
      }
      // Somebody gave it up in the meantime, or took it out.
      known = undefined
      continue
    } catch (error) {
      if (!isStoreFault(error)) throw error
      host.onStoreFault(error)
      if (Date.now() + pause > until) return { type: 'open' }
      known = undefined
    }
    await sleep(pause)
  }
}

async function saveOnce(
  { tasks }: TaskHost,
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

/** Whether the store could not be reached. */
export function isStoreFault(error: unknown): error is GatewayError {
  return error instanceof GatewayError && error.details.phase === 'store'
}
