import { atMost } from '../../core/at-most.js'
import { inSlices } from '../../core/steps.js'
import type { OtlpClient, Posted } from '../../net/otlp-client.js'
import { exportRequest } from '../otlp/sender.js'
import { requestsOf } from './otlp.js'
import type { Shown } from './text.js'

/** How long the end of the process waits for the collector, milliseconds. */
const FLUSH_MS = 3000

interface Source {
  /** All metrics, whose they are, and since when they count (milliseconds since the epoch); undefined: another worker sends them. */
  metrics(): Promise<Pushed | undefined>
}

export interface Pushed {
  /** `Resource`, as a field. */
  readonly resource: Uint8Array
  readonly shown: readonly Shown[]
  readonly since: number
}

/**
 * Sends all metrics to a collector, again and again. Sums count from the start, so that what could not be sent is part of what is
 * sent next, and nothing waits.
 */
export class MetricsPush {
  /** Called with how each sending ended. */
  onSent: (posted: Posted) => void = () => undefined
  readonly #client: OtlpClient
  readonly #source: Source
  /** Time between two exports, milliseconds. */
  readonly #interval: number
  #timer: NodeJS.Timeout | undefined
  #sending: Promise<void> | undefined
  #isClosing = false

  constructor(client: OtlpClient, source: Source, interval: number) {
    this.#client = client
    this.#source = source
    this.#interval = interval
    this.#sendIn(interval)
  }

  /** Sends once more, if there is time. */
  async close(): Promise<void> {
    this.#isClosing = true
    clearTimeout(this.#timer)
    let isLate = false
    const last = async (): Promise<void> => {
      await this.#sending
      if (!isLate) await this.#send()
    }
    await atMost(FLUSH_MS, last()).catch(() => undefined)
    isLate = true
    this.#client.close()
  }

  #sendIn(milliseconds: number): void {
    this.#timer = setTimeout(() => {
      this.#sending = this.#send()
        .catch((cause: Error) => {
          // Another worker, say, that ends while it is asked.
          this.onSent({ outcome: 'again', why: cause.message })
          return 0
        })
        .then(waitMs => {
          this.#sending = undefined
          if (!this.#isClosing) this.#sendIn(Math.max(this.#interval, waitMs))
        })
    }, milliseconds)
    this.#timer.unref()
  }

  /** Gives how long the collector asks to wait, milliseconds. */
  async #send(): Promise<number> {
    const found = await this.#source.metrics()
    if (found === undefined) return 0
    const requests = await inSlices(requestsOf(found.shown, { since: found.since, now: Date.now() }))
    for (const request of requests) {
      const posted = await this.#client.post('/v1/metrics', exportRequest(found.resource, [request]))
      this.onSent(posted)
      if (posted.outcome === 'again') return posted.waitMs ?? 0
    }
    return 0
  }
}
