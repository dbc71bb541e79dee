import type { OtlpClient, Posted } from '../../net/otlp-client.js'
import { exportRequest } from '../otlp/sender.js'

/** Most spans that wait, and most bytes of them: what comes beyond is dropped. */
const MAX_SPANS = 16_384
const MAX_BYTES = 16 * 1024 * 1024
/** Most spans of one sending, and most bytes. */
const BATCH_SPANS = 1024
const BATCH_BYTES = 1024 * 1024
/** Longest time that spans wait for others. */
const GATHER_MS = 1000
/** Pause after a failure; it doubles with each further one. */
const FIRST_PAUSE_MS = 1000
const LAST_PAUSE_MS = 30_000
/** Sendings of the same spans. */
const MAX_TRIES = 10

/** Spans of a request, as fields of `ScopeSpans`. */
interface Waiting {
  readonly bytes: Uint8Array
  readonly spans: number
}

export type DropReason = 'queue_full' | 'refused' | 'shutdown'

/** Sends spans to the collector, in batches and one batch at a time. A collector that is away costs spans, and nothing else. */
export class SpanQueue {
  /** Called with how each sending ended. */
  onSent: (posted: Posted, spans: number) => void = () => undefined
  onDropped: (reason: DropReason, spans: number) => void = () => undefined
  readonly #client: OtlpClient
  /** `Resource`, as a field. */
  readonly #resource: Uint8Array
  #waiting: Waiting[] = []
  #spans = 0
  #bytes = 0
  #timer: NodeJS.Timeout | undefined
  #sending: Promise<void> | undefined
  #tries = 0
  #isClosing = false

  constructor(client: OtlpClient, resource: Uint8Array) {
    this.#client = client
    this.#resource = resource
  }

  add(bytes: Uint8Array, spans: number): void {
    if (this.#isClosing) {
      this.onDropped('shutdown', spans)
      return
    }
    if (this.#spans + spans > MAX_SPANS || this.#bytes + bytes.length > MAX_BYTES) {
      this.onDropped('queue_full', spans)
      return
    }
    this.#waiting.push({ bytes, spans })
    this.#spans += spans
    this.#bytes += bytes.length
    if (this.#timer === undefined && this.#sending === undefined) this.#sendIn(GATHER_MS)
    else if (this.#tries === 0 && this.#sending === undefined && this.#isFull) this.#sendIn(0)
  }

  /** Sends what waits, as long as there is time, and drops the rest. */
  async close(patienceMs: number): Promise<void> {
    this.#isClosing = true
    clearTimeout(this.#timer)
    let isLate = false
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<void>(resolve => {
      timer = setTimeout(() => {
        isLate = true
        resolve()
      }, patienceMs)
    })
    const flushed = async (): Promise<void> => {
      await this.#sending
      // After one more failure there is no use in waiting.
      for (this.#tries = 0; this.#spans > 0 && this.#tries === 0 && !isLate; ) await this.#send()
    }
    await Promise.race([flushed(), late])
    clearTimeout(timer)
    if (this.#spans > 0) this.onDropped('shutdown', this.#spans)
    this.#waiting = []
    this.#spans = 0
    this.#bytes = 0
    this.#client.close()
  }

  get #isFull(): boolean {
    return this.#spans >= BATCH_SPANS || this.#bytes >= BATCH_BYTES
  }

  #sendIn(milliseconds: number): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      this.#sending = this.#send().finally(() => {
        this.#sending = undefined
        if (this.#isClosing || this.#spans === 0 || this.#timer !== undefined) return
        this.#sendIn(this.#isFull ? 0 : GATHER_MS)
      })
    }, milliseconds)
    this.#timer.unref()
  }

  /** One batch. What cannot be sent now waits at the front. */
  async #send(): Promise<void> {
    const batch = this.#take()
    const posted = await this.#client.post(
      '/v1/traces',
      exportRequest(
        this.#resource,
        batch.map(({ bytes }) => bytes),
      ),
    )
    const spans = sumOf(batch)
    this.onSent(posted, spans)
    if (posted.outcome === 'again' && ++this.#tries < MAX_TRIES) {
      this.#putBack(batch)
      const pause = Math.min(FIRST_PAUSE_MS * 2 ** (this.#tries - 1), LAST_PAUSE_MS) * (0.5 + Math.random() / 2)
      if (!this.#isClosing) this.#sendIn(posted.waitMs ?? pause)
      return
    }
    this.#tries = 0
    if (posted.outcome !== 'ok') this.onDropped('refused', spans)
  }

  #take(): readonly Waiting[] {
    let [count, spans, bytes] = [0, 0, 0]
    for (const one of this.#waiting) {
      if (count > 0 && (spans + one.spans > BATCH_SPANS || bytes + one.bytes.length > BATCH_BYTES)) break
      count++
      spans += one.spans
      bytes += one.bytes.length
    }
    this.#spans -= spans
    this.#bytes -= bytes
    return this.#waiting.splice(0, count)
  }

  #putBack(batch: readonly Waiting[]): void {
    this.#waiting.unshift(...batch)
    this.#spans += sumOf(batch)
    for (const { bytes } of batch) this.#bytes += bytes.length
  }
}

function sumOf(batch: readonly Waiting[]): number {
  let spans = 0
  for (const one of batch) spans += one.spans
  return spans
}
