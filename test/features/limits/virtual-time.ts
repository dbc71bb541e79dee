import type { Clock } from '../../../src/features/limits/clock.js'

interface Timer {
  readonly at: number
  readonly order: number
  readonly run: () => void
  readonly isDue: () => boolean
}

/** Time that passes when a test says so. Several clocks may be on it, each ahead or behind and with timers of its own. */
export class VirtualTime {
  /** Milliseconds since the beginning. */
  elapsed = 0
  readonly start: number
  #order = 0
  readonly #timers = new Set<Timer>()

  constructor(start = Date.UTC(2026, 10, 23, 10, 41, 0)) {
    this.start = start
  }

  get now(): number {
    return this.start + this.elapsed
  }

  /** `ahead`: of the time of day; it may change. `state`: a stopped process runs its timers when it continues, a dead one never. */
  clock(ahead = 0): Clock & { ahead: number; state: 'runs' | 'stopped' | 'dead' } {
    const clock = {
      ahead,
      state: 'runs' as 'runs' | 'stopped' | 'dead',
      now: () => this.now + clock.ahead,
      monotonic: () => this.elapsed,
      after: (milliseconds: number, run: () => void) => {
        const at = this.elapsed + Math.max(0, milliseconds)
        const timer = { at, order: this.#order++, run, isDue: () => clock.state === 'runs' }
        this.#timers.add(timer)
        return () => void this.#timers.delete(timer)
      },
    }
    return clock
  }

  /** Lets time pass, and everything happen that was to happen meanwhile. */
  async pass(milliseconds: number): Promise<void> {
    const end = this.elapsed + milliseconds
    await settled()
    for (;;) {
      const next = this.#first(end)
      if (next === undefined) break
      this.#timers.delete(next)
      this.elapsed = Math.max(this.elapsed, next.at)
      next.run()
      await settled()
    }
    this.elapsed = end
  }

  /** Lets time pass until a promise is settled, at most a minute. */
  async until<T>(promise: T | Promise<T>): Promise<T> {
    let isDone = false
    const done = Promise.resolve(promise).finally(() => {
      isDone = true
    })
    for (let waited = 0; !isDone && waited < 60_000; waited += 5) await this.pass(waited === 0 ? 0 : 5)
    if (!isDone) throw new Error('nothing happened within a minute')
    return done
  }

  #first(end: number): Timer | undefined {
    let first: Timer | undefined
    for (const timer of this.#timers) {
      if (timer.at > end || !timer.isDue()) continue
      if (first === undefined || timer.at < first.at || (timer.at === first.at && timer.order < first.order))
        first = timer
    }
    return first
  }
}

/** Everything that promises have to do is done. */
export function settled(): Promise<void> {
  return new Promise(resolve => setImmediate(resolve))
}
