import type { HealthChange } from '../core/health.js'
import type { Log } from '../sinks/log.js'

/** Most lines within the time below; the others are only counted. */
const MAX_LINES = 50
const WINDOW_MS = 10_000

/** A log line for each upstream, credential or model that is put behind the others, or is back. */
export class HealthLog {
  readonly #log: Log
  #since = Number.NEGATIVE_INFINITY
  #lines = 0
  #omitted = 0

  constructor(log: Log) {
    this.#log = log
  }

  changed({ to, pause, definition: _, ...part }: HealthChange): void {
    const now = performance.now()
    if (now - this.#since >= WINDOW_MS) {
      this.#since = now
      this.#lines = 0
    }
    if (++this.#lines > MAX_LINES) {
      this.#omitted++
      return
    }
    const omitted = this.#omitted === 0 ? {} : { omitted: this.#omitted }
    this.#omitted = 0
    if (to === 'closed') this.#log.info({ health: to, ...part, ...omitted }, 'an upstream answers again')
    else
      this.#log.warn(
        { health: to, ...part, pause: Math.round(pause), ...omitted },
        'an upstream fails and is asked last',
      )
  }
}
