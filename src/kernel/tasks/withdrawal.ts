import { setTimeout as sleep } from 'node:timers/promises'
import type { Kernel } from '../kernel.js'
import { isStoreFault } from './confirm-submit.js'
import type { Task } from './record.js'
import type { TaskEntry } from './repository.js'

/** Pauses between two attempts, milliseconds. */
const PAUSE_MS = { first: 100, longest: 1000 }

/**
 * Takes out the record of a task that no upstream took, or was asked for, and frees its client's own key. Where the store
 * is gone it goes on by itself until the record's lease is over: then whoever looks after the task does so. `entry` absent:
 * whether there is a record is not known.
 */
export async function withdraw(kernel: Kernel, task: Task, key: string | undefined, entry?: TaskEntry): Promise<void> {
  try {
    await takeOut(kernel, task, key, entry)
  } catch (error) {
    if (!isStoreFault(error)) throw error
    kernel.onStoreFault(error)
    void goOn(kernel, task, key)
  }
}

async function goOn(kernel: Kernel, task: Task, key: string | undefined): Promise<void> {
  const until = Date.now() + kernel.generation.plan.tasks.lease
  for (let pause = PAUSE_MS.first; Date.now() + pause < until; pause = Math.min(2 * pause, PAUSE_MS.longest)) {
    await sleep(pause, undefined, { ref: false })
    try {
      return await takeOut(kernel, task, key)
    } catch {
      // The store is still gone; that has been told.
    }
  }
}

async function takeOut(kernel: Kernel, task: Task, key: string | undefined, entry?: TaskEntry): Promise<void> {
  const { repository } = kernel.tasks
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
