import { setTimeout as sleep } from 'node:timers/promises'
import type { Kernel } from '../../kernel/kernel.js'
import { isStoreFault } from './confirm-submit.js'
import type { Task } from './record.js'
import type { TaskEntry } from './repository.js'
import { TASKS } from './tasks.js'

/** Pauses between two attempts, milliseconds. */
const PAUSE_MS = { first: 100, longest: 1000 }

/**
 * Deletes the record of a task that no upstream accepted, and frees its client's key. If the store is unavailable it retries
 * in the background until the record's lease ends; then a worker deletes the record. `entry` absent: it is unknown whether
 * there is a record.
 */
export async function withdraw(kernel: Kernel, task: Task, key: string | undefined, entry?: TaskEntry): Promise<void> {
  try {
    await deleteRecord(kernel, task, key, entry)
  } catch (error) {
    if (!isStoreFault(error)) throw error
    kernel.onStoreFault(error)
    void retryDelete(kernel, task, key)
  }
}

async function retryDelete(kernel: Kernel, task: Task, key: string | undefined): Promise<void> {
  const until = Date.now() + kernel.generation.plan.tasks.lease
  for (let pause = PAUSE_MS.first; Date.now() + pause < until; pause = Math.min(2 * pause, PAUSE_MS.longest)) {
    await sleep(pause, undefined, { ref: false })
    try {
      return await deleteRecord(kernel, task, key)
    } catch {
      // The store is still unavailable, which was reported.
    }
  }
}

async function deleteRecord(kernel: Kernel, task: Task, key: string | undefined, entry?: TaskEntry): Promise<void> {
  const { repository } = kernel.need(TASKS)
  const { kind, owner, id } = task
  let left =
    entry !== undefined && (await repository.remove(entry))
      ? undefined
      : await repository.findWithDeleted(kind, owner, id)
  while (left?.task.phase === 'submitting' || left?.task.phase === 'deleting') {
    left = (await repository.remove(left)) ? undefined : await repository.findWithDeleted(kind, owner, id)
  }
  if (key !== undefined) await repository.freeKey(owner, key, id)
}
