import type { StoreEvents } from '../core/store-config.js'
import type { Log } from '../sinks/log.js'

/** How long further failures of single calls are not logged, milliseconds. */
const QUIET_MS = 10_000

/**
 * Whether the store works, by what its driver reports, how calls end, and what the regular sweep finds. It logs each
 * change once, and failures of single calls now and then: with a full disk every one of them fails.
 */
export class StoreState implements StoreEvents {
  #log: Log | undefined
  /** Messages from before the log was open. */
  #early: string[] = []
  #reason: string | undefined
  /** Whether the log already says that the store is unavailable; single calls may have failed before. */
  #down = false
  #faults = 0
  #quietUntil = 0
  /** Called when the store is available again. */
  onUp: () => void = () => undefined

  /** Why the store does not work; undefined where it does. */
  get reason(): string | undefined {
    return this.#reason
  }

  attach(log: Log): void {
    this.#log = log
    for (const message of this.#early.splice(0)) log.warn({ store: message }, 'the store works, but')
  }

  warn(message: string): void {
    if (this.#log === undefined) this.#early.push(message)
    else this.#log.warn({ store: message }, 'the store works, but')
  }

  down(message: string): void {
    if (!this.#down) this.#log?.error({ error: message }, 'the store cannot be used')
    this.#down = true
    this.#reason = message
  }

  up(): void {
    if (this.#reason === undefined) return
    this.#log?.info({ faults: this.#faults }, 'the store can be used again')
    this.#reason = undefined
    this.#down = false
    this.#faults = 0
    this.onUp()
  }

  /** Something could not be stored. */
  failed(error: unknown): void {
    const message = error instanceof Error ? error.message : String(error)
    this.#faults++
    this.#reason ??= message
    const now = performance.now()
    if (now < this.#quietUntil) return
    this.#quietUntil = now + QUIET_MS
    this.#log?.error({ error: message, faults: this.#faults }, 'a record could not be stored')
  }
}
