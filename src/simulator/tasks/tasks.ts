import { readFaults } from '../faults/read.js'
import { type Course, courseOf } from './course.js'
import type { Task, TaskKind } from './task.js'

const MOST = 1000
const MOST_BYTES = 16 * 1024 * 1024
const MOST_COUNTED = 200_000

/** What a task does that was told so later. */
type Told = Pick<Task, 'prompt' | 'started'>

interface Listed {
  readonly task: Task
  readonly bytes: number
}

/**
 * What this process remembers of tasks. None of it is needed to go on with one: the last 1,000 are kept to be listed
 * (at most 16 MiB), polls are counted for those that go by them, and what was deleted stays so.
 */
export class Tasks {
  readonly #listed = new Map<string, Listed>()
  readonly #polls = new Map<string, number>()
  readonly #gone = new Map<string, true>()
  readonly #children = new Map<string, string>()
  readonly #told = new Map<string, Told>()
  #bytes = 0
  #serial = 0

  /** A number that no other task of this process has. */
  serial(): number {
    this.#serial += 1
    return this.#serial
  }

  keep(name: string, task: Task): void {
    const bytes = name.length + JSON.stringify(task).length
    this.#listed.set(name, { task, bytes })
    this.#bytes += bytes
    for (const [oldest, held] of this.#listed) {
      if (this.#listed.size <= MOST && this.#bytes <= MOST_BYTES) break
      this.#bytes -= held.bytes
      this.#listed.delete(oldest)
    }
  }

  /** The task as it was asked for, where it is still remembered. */
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
    bounded(this.#gone, name, true, MOST)
  }

  isForgotten(name: string): boolean {
    return this.#gone.has(name)
  }

  /** Notes what a task that waited was told to do. */
  tell(name: string, told: Told): void {
    bounded(this.#told, name, told, MOST)
  }

  told(name: string): Told | undefined {
    return this.#told.get(name)
  }

  /** How far the task is; a poll moves on those that go by polls. */
  course(task: Task, now: number, how: 'poll' | 'look'): Course {
    const asked = readFaults(task.asked)
    if (asked.polls === undefined) return courseOf(asked, { elapsed: now - task.started, polls: 0 })
    const key = `${task.started}.${task.serial}.${task.seed}`
    const polls = (this.#polls.get(key) ?? 0) + (how === 'poll' ? 1 : 0)
    if (how === 'poll') bounded(this.#polls, key, polls, MOST_COUNTED)
    return courseOf(asked, { elapsed: 0, polls })
  }

  /** The task that was begun before by the same step from the same other one, or this one from now on. */
  once(step: string, name: string): string {
    const before = this.#children.get(step)
    if (before !== undefined) return before
    bounded(this.#children, step, name, MOST)
    return name
  }

  clear(): void {
    for (const each of [this.#listed, this.#polls, this.#gone, this.#children, this.#told]) each.clear()
    this.#bytes = 0
  }
}

/** Puts an entry last, and drops the first where there are too many. */
function bounded<T>(map: Map<string, T>, key: string, value: T, most: number): void {
  map.delete(key)
  map.set(key, value)
  if (map.size <= most) return
  const [oldest] = map.keys()
  if (oldest !== undefined) map.delete(oldest)
}
