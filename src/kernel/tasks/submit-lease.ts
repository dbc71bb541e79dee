import { isStoreFault } from './confirm-submit.js'
import type { TaskHost } from './host.js'
import type { Task } from './record.js'
import type { TaskEntry } from './repository.js'

// While a task is being submitted, its record is due when the lease of the submitting process is over, and so is decided
// then by another one: after `tasks.lease` at most, whatever that process waits for. Of each lease the last third is a
// grace: a process that lives, and could not reach the store meanwhile, renews it when the store is back.

/** Parts of `tasks.lease`. */
const LEASE_SHARE = 2 / 3
const GRACE_SHARE = 1 / 3
const RENEWAL_SHARE = 1 / 6

/** Until when a record that is being submitted is its process's, milliseconds since the epoch. */
export function leaseEnd({ generation }: TaskHost): number {
  return Date.now() + generation.plan.tasks.lease * LEASE_SHARE
}

/** The same record when its lease is over for the first time, and when somebody decides; undefined: now. */
export function grace({ generation }: TaskHost, task: Task): { readonly task: Task; readonly due: number } | undefined {
  if (task.lapsed === true || task.ambiguous === true) return undefined
  return { task: { ...task, lapsed: true }, due: Date.now() + generation.plan.tasks.lease * GRACE_SHARE }
}

/** Renews the lease of a record while its upstream is being asked. */
export class SubmitLease {
  readonly #host: TaskHost
  #entry: TaskEntry
  #timer: NodeJS.Timeout | undefined
  #renewal: Promise<void> | undefined
  #ended = false

  constructor(host: TaskHost, entry: TaskEntry) {
    this.#host = host
    this.#entry = entry
    this.later()
  }

  /** Renews it no more; gives the record as it stands, as far as that is known. */
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
    }, this.#host.generation.plan.tasks.lease * RENEWAL_SHARE)
    this.#timer.unref()
  }

  private async renew(): Promise<void> {
    const { task } = this.#entry
    const { repository } = this.#host.tasks
    try {
      const renewed = await repository.update(this.#entry, ({ lapsed: _, ...found }) =>
        found.phase === task.phase ? { task: found, due: leaseEnd(this.#host) } : undefined,
      )
      // Its client has taken it out, or another process has ended it.
      if (renewed?.task.phase !== task.phase) return
      this.#entry = renewed
    } catch (error) {
      if (!isStoreFault(error)) throw error
      this.#host.onStoreFault(error)
    }
    if (!this.#ended) this.later()
  }
}
