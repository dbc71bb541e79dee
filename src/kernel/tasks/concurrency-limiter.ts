/** How long a turn is taken to last while none is over, and the shortest that is believed, milliseconds. */
const DEFAULT_RUN_MS = 100
const MIN_RUN_MS = 5

interface Load {
  running: number
  /** How long a turn lasts, milliseconds: half of it is the last one. */
  averageMs: number
  /** When the next one that was turned away may come back, milliseconds since the epoch. */
  next: number
}

/**
 * Lets only so many go at a time, by name. Nobody waits here, where waiting would keep others out: who finds no turn is
 * told when to come back, each a little after the one before, as far apart as turns come free.
 */
export class ConcurrencyLimiter {
  readonly #loads = new Map<string, Load>()

  /** Does the work in a turn; or, where there is none, what is to be done instead, by the time at which to ask again. */
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

  /** Takes a turn, which is paid back by one `done`; or gives the time at which to ask again. */
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

  /** `lasted`: how long the turn was used, milliseconds. */
  private done(name: string, lasted: number, now: number): void {
    const load = this.#loads.get(name)
    if (load === undefined) return
    load.averageMs = Math.max((load.averageMs + lasted) / 2, MIN_RUN_MS)
    load.running--
    if (load.running === 0 && load.next <= now) this.#loads.delete(name)
  }
}
