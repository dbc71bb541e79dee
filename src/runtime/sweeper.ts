import { randomUUID } from 'node:crypto'
import type { Store } from '../core/store.js'
import { SteadyClock, SYSTEM_CLOCK } from '../features/limits/clock.js'
import { dayOf, dropOldDays } from './ledger-retention.js'
import type { StoreState } from './store-state.js'

/** How often expired records are removed, and how many at a time. */
const SWEEP_INTERVAL_MS = 10_000
const MAX_RECORDS_PER_SWEEP = 500
const MAX_ROUNDS_PER_SWEEP = 20

/**
 * What is written to find out whether a store that failed takes anything again: as many bytes as a task's record may have,
 * since small ones find room even on a full disk. It expires soon where it cannot be removed.
 */
const TRIAL = { namespace: 'trials', owner: 'gateway', bytes: 64 * 1024, expires: 60_000 } as const

/**
 * Removes expired records from a store, a few at a time, and old days of the ledger, until it is stopped, and checks whether a failed store is
 * available again. A sweep that finds nothing to remove does not show that: a full disk can still be read.
 */
export class Sweeper {
  readonly #store: Store
  readonly #state: StoreState
  readonly #timer: NodeJS.Timeout
  readonly #retention: () => number | undefined
  /** Stores give leases back that have ended by it, also those of other gateways: a jump must end none. */
  readonly #clock = new SteadyClock(SYSTEM_CLOCK)
  #running: Promise<void> | undefined
  /** The first day that the ledger retained when old ones were last dropped. */
  #firstDay: string | undefined

  /** `retention`: how long the ledger is kept at the moment, milliseconds; absent: for ever. */
  constructor(store: Store, state: StoreState, retention: () => number | undefined = () => undefined) {
    this.#store = store
    this.#state = state
    this.#retention = retention
    this.#timer = setInterval(() => void this.sweepNow(), SWEEP_INTERVAL_MS)
    this.#timer.unref()
  }

  /** Resolves when a look under way has ended. */
  async stop(): Promise<void> {
    clearInterval(this.#timer)
    await this.#running
  }

  /** Looks after the store now, or waits for the look under way. */
  sweepNow(): Promise<void> {
    this.#running ??= this.sweep()
      .catch((error: unknown) => this.#state.failed(error))
      .finally(() => {
        this.#running = undefined
      })
    return this.#running
  }

  private async sweep(): Promise<void> {
    const now = this.#clock.now()
    for (let time = 0; time < MAX_ROUNDS_PER_SWEEP; time++) {
      if ((await this.#store.sweep(now, MAX_RECORDS_PER_SWEEP)) < MAX_RECORDS_PER_SWEEP) break
    }
    await this.dropOldDays(now)
    if (this.#state.reason !== undefined && (await this.acceptsWrites(now))) this.#state.up()
  }

  /** Once for each day that the ledger's time is over for. */
  private async dropOldDays(now: number): Promise<void> {
    const retention = this.#retention()
    if (retention === undefined) return
    const first = dayOf(now - retention)
    if (first === this.#firstDay) return
    await dropOldDays(this.#store, retention, now)
    this.#firstDay = first
  }

  /** Whether the store accepts a record. A failure is known already, so it is not reported again. */
  private async acceptsWrites(now: number): Promise<boolean> {
    const { bytes, ...place } = TRIAL
    const times = { created: now, expires: now + TRIAL.expires, due: now + TRIAL.expires }
    try {
      const draft = { ...place, ...times, key: randomUUID(), value: Buffer.alloc(bytes) }
      const record = await this.#store.create(draft)
      return record !== undefined && (await this.#store.delete(record))
    } catch {
      return false
    }
  }
}
