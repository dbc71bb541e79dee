/** How long a turn is taken to last while none is over, and the shortest that is believed, milliseconds. */
const USUAL = 100
const SHORTEST = 5

interface Line {
  going: number
  /** How long a turn lasts, milliseconds: half of it is the last one. */
  lasts: number
  /** When the next one that was turned away may come back, milliseconds since the epoch. */
  next: number
}

/**
 * Lets only so many go at a time, by name. Nobody waits here, where waiting would keep others out: who finds no turn is
 * told when to come back, each a little after the one before, as far apart as turns come free.
 */
export class Turns {
  readonly #lines = new Map<string, Line>()

  /** Does the work in a turn; or, where there is none, what is to be done instead, by the time at which to ask again. */
  async use(
    name: string,
    most: number,
    work: () => Promise<void>,
    instead: (next: number) => Promise<void>,
  ): Promise<void> {
    const began = Date.now()
    const next = this.take(name, most, began)
    if (next !== undefined) return await instead(next)
    try {
      await work()
    } finally {
      const now = Date.now()
      this.done(name, now - began, now)
    }
  }

  /** Takes a turn, which is paid back by one `done`; or gives the time at which to ask again. */
  private take(name: string, most: number, now: number): number | undefined {
    const line = this.#lines.get(name) ?? { going: 0, lasts: USUAL, next: now }
    this.#lines.set(name, line)
    if (line.going < most) {
      line.going++
      return undefined
    }
    line.next = Math.max(line.next, now) + line.lasts / most
    return Math.ceil(line.next)
  }

  /** `lasted`: how long the turn was used, milliseconds. */
  private done(name: string, lasted: number, now: number): void {
    const line = this.#lines.get(name)
    if (line === undefined) return
    line.lasts = Math.max((line.lasts + lasted) / 2, SHORTEST)
    line.going--
    if (line.going === 0 && line.next <= now) this.#lines.delete(name)
  }
}
