import type { TaskTarget } from '../../core/plan.js'
import type { Generation } from '../../kernel/generation.js'
import { NoResponseError } from '../../kernel/http-call.js'
import { keepPosition } from '../../kernel/positions.js'
import type { TaskHost, TaskRecords } from './host.js'
import type { Task } from './record.js'
import { positionPlace, type TaskEntry } from './repository.js'
import { MAX_MISSES } from './transition.js'
import { callUpstream, generationOf, targetOf } from './upstream.js'

/** Statuses that say nothing about the task: they concern the credential, the rate or the time it took. */
const UNDECIDED_STATUSES: ReadonlySet<number> = new Set([401, 403, 407, 408, 425, 429])
/** Pause between two attempts, milliseconds. */
const RETRY_PAUSE_MS = 15_000

/** Asks the upstream to cancel or delete a task, if it has such a call. Removes the record of a deleted task afterwards. */
export async function cancelUpstream(tasks: TaskRecords, entry: TaskEntry): Promise<void> {
  const { task } = entry
  const { repository, results, host } = tasks
  // Its submit is under way: wait until the upstream has given the task an id.
  if (task.upstreamId === undefined && Date.now() < (task.awaited ?? 0)) {
    await repository.replace(entry, task, task.awaited ?? null)
    return
  }
  const generation = generationOf(host, task).lease()
  try {
    const target = targetOf(generation.plan, task)
    const isDone =
      target === undefined || task.upstreamId === undefined || (await isAcknowledged(host, generation, task, target))
    if (!isDone && task.faults < MAX_MISSES) {
      await repository.replace(entry, { ...task, faults: task.faults + 1 }, Date.now() + RETRY_PAUSE_MS)
    } else if (task.phase === 'deleting') {
      await tasks.reportEnd(task)
      await keepPosition(host.store, { ...positionPlace(task), created: task.created }, Date.now())
      await results.drop(task)
      await repository.remove(entry)
    } else {
      // Features may still wait for the report of its end.
      const due = task.notes === undefined ? null : Date.now()
      await repository.replace(entry, { ...task, phase: 'done', faults: 0 }, due)
      tasks.wake(task.kind, due)
    }
  } finally {
    generation.release()
  }
}

async function isAcknowledged(
  host: TaskHost,
  generation: Generation,
  task: Task,
  target: TaskTarget,
): Promise<boolean> {
  const wanted = task.phase === 'deleting' && target.calls.delete !== undefined ? 'delete' : 'cancel'
  if (wanted === 'cancel' && task.phase === 'deleting' && task.finished !== undefined) return true
  const asker = { watchCall: host.watchCall, observeTask: host.observeTask }
  try {
    const answer = await callUpstream({ ...asker, generation }, task, target, wanted)
    if (answer?.status === 401 || answer?.status === 403) host.onRefusedCredential(target.upstream.name)
    return answer === undefined || (answer.status < 500 && !UNDECIDED_STATUSES.has(answer.status))
  } catch (error) {
    if (error instanceof NoResponseError) return false
    throw error
  }
}
