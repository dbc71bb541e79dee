import { readFaults, type Stage } from '../../faults/read.js'
import type { JsonObject } from '../../json.js'
import type { Call, Recalled } from '../../protocol.js'
import { type Course, nameOf, type Task, type TaskKind, taskOf } from '../../tasks/task.js'

export interface Video {
  readonly model: string
  readonly prompt: string
  /** Pixels. */
  readonly width: number
  readonly height: number
  readonly seconds: number
}

/** A task and its name. */
export interface Begun {
  readonly name: string
  readonly task: Task
}

/** Begins a task; what the request asks of the simulator goes into its name. */
export function begin(call: Call, kind: TaskKind, video: Video, more: JsonObject = {}): Begun {
  const { model, prompt, width, height, seconds } = video
  const facts = { width, height, seconds, ...more }
  const { asked, seed, tasks, now: started } = call
  const task = { kind, model, prompt, asked, facts, started, serial: tasks.serial(), seed: seed.hex(16) }
  const name = nameOf(task)
  tasks.keep(name, task)
  return { name, task }
}

/** The task of a name, unless it was deleted or the fault `lost` hides it. */
export function find({ tasks }: Call, kind: TaskKind, name: string): Task | undefined {
  const known = taskOf(name, kind)
  if (known === undefined || tasks.isForgotten(name) || readFaults(known.asked).lost) return undefined
  return tasks.get(name) ?? known
}

/** How far a task is, counting the request as a poll of it. */
export function polled({ tasks, now }: Call, task: Task): Course {
  return tasks.course(task, now, 'poll')
}

/** What a task's model, or the header of the request that began it, wants of later requests. */
export function recallOf(kind: TaskKind, stage: Stage, nameIn: (parameter: string) => string = parameter => parameter) {
  return ({ parameter }: Pick<Call, 'parameter'>): Recalled | undefined => {
    const name = nameIn(parameter)
    const task = taskOf(name, kind)
    return task && { faults: readFaults(task.asked, stage), scope: `${stage} ${name}` }
  }
}

export function videoOf({ model, prompt, facts }: Task): Video {
  const [width = 0, height = 0, seconds = 0] = [facts.width, facts.height, facts.seconds].map(Number)
  return { model, prompt, width, height, seconds }
}

/** Where this simulator is reached, as the request has it. */
export function originOf({ headers: { host = '' } }: Pick<Call, 'headers'>): string {
  return `http://${/^[\w.:[\]-]+$/.test(host) ? host : 'localhost'}`
}
