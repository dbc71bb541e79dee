import type { TaskTarget } from '../../core/plan.js'
import type { Generation } from '../generation.js'
import { NoAnswer } from './ask.js'
import type { Entry } from './book.js'
import { keepPlace } from './gone.js'
import type { TaskHost } from './host.js'
import type { Task } from './record.js'
import { MOST_MISSES } from './transition.js'
import { askAbout, targetOf } from './upstream.js'

/** Refusals that say nothing of the task: of the credential, of the rate, of the time it took. */
const UNHEARD: ReadonlySet<number> = new Set([401, 403, 407, 408, 425, 429])
/** Pause between two attempts, milliseconds. */
const TELL_AGAIN = 15_000

/** Tells the upstream that a task is not wanted any more, as far as it takes that; what was to be taken out then goes. */
export async function tellUpstream(host: TaskHost, entry: Entry): Promise<void> {
  const { task } = entry
  const { book, results } = host.tasks
  // Its submit is under way: the upstream is told when it has given the task a name.
  if (task.phase === 'deleting' && task.upstreamId === undefined && Date.now() < (task.awaited ?? 0)) {
    await book.replace(entry, task, task.awaited ?? null)
    return
  }
  const generation = host.generation.lease()
  try {
    const target = targetOf(generation.plan, task)
    const told = target === undefined || task.upstreamId === undefined || (await isTold(host, generation, task, target))
    if (!told && task.faults < MOST_MISSES) {
      await book.replace(entry, { ...task, faults: task.faults + 1 }, Date.now() + TELL_AGAIN)
    } else if (task.phase === 'deleting') {
      await keepPlace(host.store, task)
      await results.drop(task)
      await book.remove(entry)
    } else await book.replace(entry, { ...task, phase: 'done', faults: 0 }, null)
  } finally {
    generation.release()
  }
}

async function isTold(host: TaskHost, generation: Generation, task: Task, target: TaskTarget): Promise<boolean> {
  const wanted = task.phase === 'deleting' && target.calls.delete !== undefined ? 'delete' : 'cancel'
  if (wanted === 'cancel' && task.phase === 'deleting' && task.finished !== undefined) return true
  try {
    const answer = await askAbout(generation, task, target, wanted)
    if (answer?.status === 401 || answer?.status === 403) host.onRefusedCredential()
    return answer === undefined || (answer.status < 500 && !UNHEARD.has(answer.status))
  } catch (error) {
    if (error instanceof NoAnswer) return false
    throw error
  }
}
