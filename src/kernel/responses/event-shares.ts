/** Bytes of events that all runs of a process keep together, so that they can be read again. */
const MAX_ALL_EVENTS_BYTES = 48 * 1024 * 1024
/** Most that one keeps. */
const MAX_RUN_EVENTS_BYTES = 2 * 1024 * 1024

/** How much of their events runs may keep: keys have equal shares of a bound for all, and so have the runs of a key. */
export class EventShares {
  readonly #runs = new Map<string, number>()

  add(owner: string): void {
    this.#runs.set(owner, (this.#runs.get(owner) ?? 0) + 1)
  }

  delete(owner: string): void {
    const left = (this.#runs.get(owner) ?? 0) - 1
    if (left > 0) this.#runs.set(owner, left)
    else this.#runs.delete(owner)
  }

  /** Bytes for each run of that owner. */
  of(owner: string): number {
    const share = MAX_ALL_EVENTS_BYTES / Math.max(1, this.#runs.size) / (this.#runs.get(owner) ?? 1)
    return Math.min(MAX_RUN_EVENTS_BYTES, Math.floor(share))
  }
}
