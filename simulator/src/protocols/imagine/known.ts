import { readFaults, type Stage } from '../../faults/read.js'
import type { Call, Recalled } from '../../protocol.js'
import type { Course } from '../../tasks/course.js'
import { type Task, taskOf } from '../../tasks/task.js'
import { actionOf, isModal } from './action.js'
import { CODES, refused } from './family.js'

/** A task as it stands. `MODAL`: it waits to be told what to do. */
export interface Standing {
  readonly name: string
  readonly task: Task
  readonly course: Course | 'modal'
}

/** A task and how it stands; a poll counts as one. Nothing where it is not known, or lost. */
export function standing({ tasks, now }: Call, name: string, how: 'poll' | 'look'): Standing | undefined {
  const written = taskOf(name, 'imagine', 'digits')
  if (written === undefined || readFaults(written.asked).lost) return undefined
  const told = tasks.resumed(name)
  const task = { ...(tasks.get(name) ?? written), ...told }
  if (isModal(actionOf(task)) && told === undefined) return { name, task, course: 'modal' }
  return { name, task, course: tasks.course(task, now, how) }
}

/** The task that another is to be made from: one that has succeeded. Throws where there is none. */
export function parent(call: Call, name: string): Standing & { readonly course: Course } {
  const found = standing(call, name, 'look')
  if (found === undefined) throw refused(CODES.notFound, 'The related task does not exist or has expired')
  const { course } = found
  if (course !== 'modal' && course.phase === 'done') return { ...found, course }
  throw refused(CODES.failed, 'The status of the related task is wrong')
}

/** Faults of later requests for these tasks: those of the first that has any. */
export function recalled(names: readonly string[], stage: Stage): Recalled | undefined {
  for (const name of names) {
    const task = taskOf(name, 'imagine', 'digits')
    const faults = task === undefined ? {} : readFaults(task.asked, stage)
    if (Object.keys(faults).length > 0) return { faults, scope: `${stage} ${name}` }
  }
  return undefined
}
