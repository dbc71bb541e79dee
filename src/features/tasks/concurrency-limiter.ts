/** Assumed length of a run before one has ended, and the shortest that is assumed later, milliseconds. */
const DEFAULT_RUN_MS = 100
const MIN_RUN_MS = 5

interface Load {
  running: number
  /** Moving average of a run's length, milliseconds: the last run counts half. */
  averageMs: number
  /** When the next rejected caller may try again, milliseconds since the epoch. */
  next: number
}

/**
 * Limits concurrent runs by name. It has no queue, since waiting would keep others out: a rejected caller learns when to
 * try again, and these times are spaced as runs are expected to end.
 */
export class ConcurrencyLimiter {
  readonly #loads = new Map<string, Load>()

  /** Runs `work` if the limit allows it; otherwise calls `instead` with the time of the next try. */
  async run(
    name: string,
    max: number,
    work: () => Promise<void>,
    instead: (next: number) => Promise<void>,
  ): Promise<void> {
    const began = Date.now()
    const next = this.take(name, max, began)
    if (next !== undefined) return await instead(next)
    try {
      await work()
    } finally {
      const now = Date.now()
      this.done(name, now - began, now)
    }
  }

  /** Counts a run, which `done` ends. At the limit: returns the time of the next try. */
  private take(name: string, max: number, now: number): number | undefined {
    const load = this.#loads.get(name) ?? { running: 0, averageMs: DEFAULT_RUN_MS, next: now }
    this.#loads.set(name, load)
    if (load.running < max) {
      load.running++
      return undefined
    }
    load.next = Math.max(load.next, now) + load.averageMs / max
    return Math.ceil(load.next)
  }

  /** `lasted`: length of the run, milliseconds. */
  private done(name: string, lasted: number, now: number): void {
    const load = this.#loads.get(name)
    if (load === undefined) return
    load.averageMs = Math.max((load.averageMs + lasted) / 2, MIN_RUN_MS)
    load.running--
    if (load.running === 0 && load.next <= now) this.#loads.delete(name)
  }
}
