import type { TaskState } from '../core/task.js'
import type { EventFamilies, StateFamilies } from '../features/metrics/families.js'
import { isEnded } from '../features/tasks/record.js'
import { TASKS, type Tasks } from '../features/tasks/tasks.js'
import type { Kernel } from '../kernel/kernel.js'

const MS_PER_SECOND = 1000
/** Most tasks of a kind that are counted. */
const MAX_COUNTED = 5000
/** Tasks that are read from the store at a time. */
const PAGE_TASKS = 250
/** How long a count is shown before the store is asked again, milliseconds. */
const FRESH_MS = 10_000
/** How long a scrape waits for the store, milliseconds: afterwards it shows the count before. */
const PATIENCE_MS = 1000

/** Counts changes of tasks, how long they took, and attempts to notify their clients. */
export function countTasks(events: EventFamilies, tasks: Tasks): void {
  const { onChange, hooks } = tasks
  tasks.onChange = (change, age) => {
    const { kind, to } = change
    events.taskChanges.of(kind, to).add(1)
    if (to === 'succeeded' || to === 'failed' || to === 'cancelled')
      events.taskDuration.of(kind, to).observe(age / MS_PER_SECOND)
    onChange(change, age)
  }
  const { onAttempt } = hooks
  hooks.onAttempt = attempt => {
    events.webhooks.of(attempt.outcome.replaceAll(' ', '_')).add(1)
    onAttempt(attempt)
  }
}

interface Counted {
  readonly kind: string
  readonly state: TaskState
  count: number
  /** When the oldest one that has not ended was created, milliseconds since the epoch. */
  oldest: number | undefined
}

/** How many tasks are in which state, and how old they are. All gateways on a store show the same: one worker of each asks. */
export class TaskSurvey {
  readonly #kernel: Kernel
  #counted: readonly Counted[] = []
  #at = Number.NEGATIVE_INFINITY
  #asking: Promise<void> | undefined

  constructor(kernel: Kernel) {
    this.#kernel = kernel
  }

  async show(states: StateFamilies): Promise<void> {
    if (this.#kernel.peers.number > 1) return
    await this.#ask()
    const now = Date.now()
    for (const { kind, state, count, oldest } of this.#counted) {
      states.tasks.of(kind, state).add(count)
      if (oldest !== undefined) states.taskAge.of(kind, state).add(Math.max(0, now - oldest) / MS_PER_SECOND)
    }
  }

  /** Asks the store unless that was done a moment ago, and waits a moment for it. */
  async #ask(): Promise<void> {
    if (performance.now() - this.#at < FRESH_MS) return
    this.#asking ??= this.#count().finally(() => {
      this.#asking = undefined
    })
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<void>(resolve => {
      timer = setTimeout(resolve, PATIENCE_MS)
    })
    await Promise.race([this.#asking, late])
    clearTimeout(timer)
  }

  /** Where the store fails, the count before remains. */
  async #count(): Promise<void> {
    const counted = new Map<string, Counted>()
    try {
      for (const kind of this.#kernel.generation.plan.taskKinds.keys()) await this.#countKind(kind, counted)
      this.#counted = [...counted.values()]
    } catch {
      // The store's own metrics tell of it.
    }
    this.#at = performance.now()
  }

  async #countKind(kind: string, counted: Map<string, Counted>): Promise<void> {
    const { repository } = this.#kernel.need(TASKS)
    for await (const { task } of repository.survey(kind, MAX_COUNTED, PAGE_TASKS)) {
      const { state, created } = task
      const entry = counted.get(`${kind} ${state}`) ?? { kind, state, count: 0, oldest: undefined }
      entry.count++
      if (!isEnded(task)) entry.oldest = Math.min(entry.oldest ?? created, created)
      counted.set(`${kind} ${state}`, entry)
    }
  }
}
