import { BoundedMap } from '../bounded-map.js'
import { readFaults } from '../faults/read.js'
import { type Course, courseOf, type Task, type TaskKind } from './task.js'

/** Input that a waiting task received later. */
type ResumedInput = Pick<Task, 'prompt' | 'started'>

/**
 * What this process remembers of tasks. None of it is needed to continue a task: the last 1,000 are kept for lists
 * (at most 16 MiB), polls are counted for tasks that advance by polls, and deleted tasks stay deleted.
 */
export class Tasks {
  readonly #listed = new BoundedMap<Task>({
    bytes: 16 * 1024 * 1024,
    sizeOf: task => Buffer.byteLength(JSON.stringify(task)),
  })
  readonly #polls = new BoundedMap<number>({ entries: 200_000 })
  readonly #gone = new BoundedMap<true>()
  readonly #children = new BoundedMap<string>()
  readonly #resumed = new BoundedMap<ResumedInput>()
  #serial = 0

  /** A number that is unique within this process. */
  serial(): number {
    this.#serial += 1
    return this.#serial
  }

  keep(name: string, task: Task): void {
    this.#listed.put(name, task)
  }

  /** The submitted task, if it is still remembered. */
  get(name: string): Task | undefined {
    return this.#listed.get(name)
  }

  /** Tasks of a kind, oldest first. */
  list(kind: TaskKind): readonly (readonly [name: string, task: Task])[] {
    return this.#listed.entries().filter(([, task]) => task.kind === kind)
  }

  forget(name: string): void {
    this.#listed.drop(name)
    this.#gone.put(name, true)
  }

  isForgotten(name: string): boolean {
    return this.#gone.get(name) === true
  }

  /** Stores the input of a waiting task. */
  resume(name: string, input: ResumedInput): void {
    this.#resumed.put(name, input)
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
    if (how === 'poll') this.#polls.put(key, polls)
    return courseOf(asked, { elapsed: 0, polls })
  }

  /** The task that the same step began earlier from the same parent, or this one from now on. */
  once(step: string, name: string): string {
    const before = this.#children.get(step)
    if (before === undefined) this.#children.put(step, name)
    return before ?? name
  }

  clear(): void {
    for (const each of [this.#listed, this.#polls, this.#gone, this.#children, this.#resumed]) each.clear()
  }
}
