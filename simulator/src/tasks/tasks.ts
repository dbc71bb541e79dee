import { readFaults } from '../faults/read.js'
import { type Course, courseOf, type Task, type TaskKind } from './task.js'

const MAX_TASKS = 1000
const MAX_TASKS_BYTES = 16 * 1024 * 1024
const MAX_COUNTED_TASKS = 200_000

/** Input that a waiting task received later. */
type ResumedInput = Pick<Task, 'prompt' | 'started'>

interface Listed {
  readonly task: Task
  readonly bytes: number
}

/**
 * What this process remembers of tasks. None of it is needed to continue a task: the last 1,000 are kept for lists
 * (at most 16 MiB), polls are counted for tasks that advance by polls, and deleted tasks stay deleted.
 */
export class Tasks {
  readonly #listed = new Map<string, Listed>()
  readonly #polls = new Map<string, number>()
  readonly #gone = new Map<string, true>()
  readonly #children = new Map<string, string>()
  readonly #resumed = new Map<string, ResumedInput>()
  #bytes = 0
  #serial = 0

  /** A number that is unique within this process. */
  serial(): number {
    this.#serial += 1
    return this.#serial
  }

  keep(name: string, task: Task): void {
    const bytes = name.length + JSON.stringify(task).length
    this.#listed.set(name, { task, bytes })
    this.#bytes += bytes
    for (const [oldest, held] of this.#listed) {
      if (this.#listed.size <= MAX_TASKS && this.#bytes <= MAX_TASKS_BYTES) break
      this.#bytes -= held.bytes
      this.#listed.delete(oldest)
    }
  }

  /** The submitted task, if it is still remembered. */
  get(name: string): Task | undefined {
    return this.#listed.get(name)?.task
  }

  /** Tasks of a kind, oldest first. */
  list(kind: TaskKind): readonly (readonly [name: string, task: Task])[] {
    return [...this.#listed].flatMap(([name, { task }]) => (task.kind === kind ? [[name, task] as const] : []))
  }

  forget(name: string): void {
    this.#bytes -= this.#listed.get(name)?.bytes ?? 0
    this.#listed.delete(name)
    bounded(this.#gone, name, true, MAX_TASKS)
  }

  isForgotten(name: string): boolean {
    return this.#gone.has(name)
  }

  /** Stores the input of a waiting task. */
  resume(name: string, input: ResumedInput): void {
    bounded(this.#resumed, name, input, MAX_TASKS)
  }

  resumed(name: string): ResumedInput | undefined {
    return this.#resumed.get(name)
  }

  /** The progress of a task. A poll advances tasks that advance by polls. */
  course(task: Task, now: number, how: 'poll' | 'look'): Course {
    const asked = readFaults(task.asked)
    if (asked.polls === undefined) return courseOf(asked, { elapsed: now - task.started, polls: 0 })
    const key = `${task.started}.${task.serial}.${task.seed}`
    const polls = (this.#polls.get(key) ?? 0) + (how === 'poll' ? 1 : 0)
    if (how === 'poll') bounded(this.#polls, key, polls, MAX_COUNTED_TASKS)
    return courseOf(asked, { elapsed: 0, polls })
  }

  /** The task that the same step began earlier from the same parent, or this one from now on. */
  once(step: string, name: string): string {
    const before = this.#children.get(step)
    if (before !== undefined) return before
    bounded(this.#children, step, name, MAX_TASKS)
    return name
  }

  clear(): void {
    for (const each of [this.#listed, this.#polls, this.#gone, this.#children, this.#resumed]) each.clear()
    this.#bytes = 0
  }
}

/** Moves or adds an entry to the end, and drops the oldest above `most` entries. */
function bounded<T>(map: Map<string, T>, key: string, value: T, most: number): void {
  map.delete(key)
  map.set(key, value)
  if (map.size <= most) return
  const [oldest] = map.keys()
  if (oldest !== undefined) map.delete(oldest)
}
