/** Most bytes of events, mostly compressed, that all runs of a process keep for later readers. */
const MAX_ALL_EVENTS_BYTES = 8 * 1024 * 1024
/** Most bytes that one run keeps. */
const MAX_RUN_EVENTS_BYTES = 256 * 1024
/** The same while a reader is behind: of all runs together, and of one, whose events may be pictures of some megabytes. */
const MAX_ALL_UNREAD_BYTES = 48 * 1024 * 1024
const MAX_RUN_UNREAD_BYTES = 8 * 1024 * 1024

/** Divides the bounds of all runs' events: keys have equal shares, and so have the runs of a key. */
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

  /** Bytes that a run of that owner may keep for later readers. */
  of(owner: string): number {
    return Math.min(MAX_RUN_EVENTS_BYTES, this.part(owner, MAX_ALL_EVENTS_BYTES))
  }

  /** Bytes that it may keep while a reader is behind. */
  unread(owner: string): number {
    return Math.min(MAX_RUN_UNREAD_BYTES, this.part(owner, MAX_ALL_UNREAD_BYTES))
  }

  private part(owner: string, all: number): number {
    return Math.floor(all / Math.max(1, this.#runs.size) / (this.#runs.get(owner) ?? 1))
  }
}
