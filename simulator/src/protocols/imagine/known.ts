import { type Family, SimulatorError } from '../../errors.js'
import { compatible } from '../../families/compatible.js'
import { readFaults, type Stage } from '../../faults/read.js'
import type { Call, Recalled } from '../../protocol.js'
import { type Course, type Task, taskOf } from '../../tasks/task.js'
import { actionOf, isModal } from './action.js'

/** A task and its progress. `modal`: it waits for its prompt. */
export interface Standing {
  readonly name: string
  readonly task: Task
  readonly course: Course | 'modal'
}

/** A task and its progress; `poll` counts as a poll. Undefined if it is unknown or lost. */
export function standing({ tasks, now }: Call, name: string, how: 'poll' | 'look'): Standing | undefined {
  const written = taskOf(name, 'imagine', 'digits')
  if (written === undefined || readFaults(written.asked).lost) return undefined
  const resumed = tasks.resumed(name)
  const task = { ...(tasks.get(name) ?? written), ...resumed }
  if (isModal(actionOf(task)) && resumed === undefined) return { name, task, course: 'modal' }
  return { name, task, course: tasks.course(task, now, how) }
}

/** The task that another one starts from: it has succeeded. Throws if there is none. */
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

/** The code in an answer's body; the HTTP status is always 200. */
export const CODES = {
  submitted: 1,
  notFound: 3,
  invalid: 4,
  failed: 9,
  exists: 21,
  queued: 22,
  full: 23,
  banned: 24,
} as const

const SAID: Readonly<Record<number, string>> = {
  [CODES.notFound]: 'No available account instance',
  [CODES.invalid]: 'The request is not valid',
  [CODES.failed]: 'The task could not be submitted',
  [CODES.full]: 'The queue is full, please try again later',
}

/** A refusal as this family makes it. */
export function refused(code: number, description = SAID[code] ?? 'The request was refused'): SimulatorError {
  return new SimulatorError(200, description, { code: String(code) })
}

/** The family of image tasks: `{ code, description }`. */
export const imagining: Family = {
  body: ({ status, message: description, details: { code } }) => {
    const usual = status === 400 ? CODES.invalid : CODES.failed
    return { code: code !== undefined && /^\d+$/.test(code) ? Number(code) : usual, description }
  },
  usual: status => new SimulatorError(status, compatible.usual(status).message),
  headers: () => ({}),
}
