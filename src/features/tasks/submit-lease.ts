import { isStoreFault } from './confirm-submit.js'
import type { TaskHost, TaskRecords } from './host.js'
import type { Task } from './record.js'
import type { TaskEntry } from './repository.js'

// While a task is being submitted, its record comes due when the lease of the submitting process ends, so that another
// process settles it within `tasks.lease`, no matter what the first one waits for. The last third of the lease is a grace:
// a live process that could not reach the store meanwhile renews the lease when the store is back.

/** Parts of `tasks.lease`. */
const LEASE_SHARE = 2 / 3
const GRACE_SHARE = 1 / 3
const RENEWAL_SHARE = 1 / 6

/** When the lease of a submitting process ends, milliseconds since the epoch. */
export function leaseEnd({ generation }: TaskHost): number {
  return Date.now() + generation.plan.tasks.lease * LEASE_SHARE
}

/** The record for the grace after its lease has ended for the first time; undefined if it must be settled now. */
export function grace({ generation }: TaskHost, task: Task): { readonly task: Task; readonly due: number } | undefined {
  if (task.lapsed === true || task.ambiguous === true) return undefined
  return { task: { ...task, lapsed: true }, due: Date.now() + generation.plan.tasks.lease * GRACE_SHARE }
}

/** Renews a record's lease while its upstream is called. */
export class SubmitLease {
  readonly #tasks: TaskRecords
  readonly #onLost: () => void
  #entry: TaskEntry
  #timer: NodeJS.Timeout | undefined
  #renewal: Promise<void> | undefined
  #ended = false

  /** `onLost`: the task is no longer this process's. */
  constructor(tasks: TaskRecords, entry: TaskEntry, onLost: () => void = () => undefined) {
    this.#tasks = tasks
    this.#onLost = onLost
    this.#entry = entry
    this.later()
  }

  /** Stops the renewal; returns the record's last known version. */
  async end(): Promise<TaskEntry> {
    this.#ended = true
    clearTimeout(this.#timer)
    await this.#renewal
    return this.#entry
  }

  private later(): void {
    this.#timer = setTimeout(() => {
      this.#renewal = this.renew()
      this.#renewal.catch(() => undefined)
    }, this.#tasks.host.generation.plan.tasks.lease * RENEWAL_SHARE)
    this.#timer.unref()
  }

  private async renew(): Promise<void> {
    const { task } = this.#entry
    const { repository, host } = this.#tasks
    try {
      const renewed = await repository.update(this.#entry, ({ lapsed: _, ...found }) =>
        found.phase === task.phase ? { task: found, due: leaseEnd(host) } : undefined,
      )
      // Its client has deleted it, or another process has settled it.
      if (renewed?.task.phase !== task.phase) return this.#onLost()
      this.#entry = renewed
    } catch (error) {
      if (!isStoreFault(error)) throw error
      host.onStoreFault(error)
    }
    if (!this.#ended) this.later()
  }
}
