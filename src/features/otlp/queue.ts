import { atMost } from '../../core/at-most.js'
import type { OtlpClient, Posted } from '../../net/otlp-client.js'
import { exportRequest } from './sender.js'

/** Most records (spans, or lines of the log) that wait, and most bytes of them: what comes beyond is dropped. */
const MAX_RECORDS = 16_384
const MAX_BYTES = 16 * 1024 * 1024
/** Most records of one sending, and most bytes. */
const BATCH_RECORDS = 1024
const BATCH_BYTES = 1024 * 1024
/** Longest time that records wait for others. */
const GATHER_MS = 1000
/** Pause after a failure; it doubles with each further one. */
const FIRST_PAUSE_MS = 1000
const LAST_PAUSE_MS = 30_000
/** How long the end of the process waits for the collector, milliseconds. */
export const EXPORT_FLUSH_MS = 3000
/** Exports of the same records. */
const MAX_TRIES = 10

/** Spans of a request, or a line, as fields of `ScopeSpans` or `ScopeLogs`. */
interface Waiting {
  readonly bytes: Uint8Array
  readonly records: number
}

type DropReason = 'queue_full' | 'refused' | 'shutdown'

/** What happened to records, for metrics. */
export interface ExportEvents {
  sent(outcome: string, records: number): void
  dropped(reason: DropReason, records: number): void
}

export const UNHEARD: ExportEvents = { sent: () => undefined, dropped: () => undefined }

/** Sends records to the collector, in batches and one batch at a time. A collector that is away costs records, and nothing else. */
export class ExportQueue {
  /** Called with how each sending ended. */
  onSent: (posted: Posted, records: number) => void = () => undefined
  onDropped: (reason: DropReason, records: number) => void = () => undefined
  readonly #client: OtlpClient
  readonly #path: string
  /** `Resource`, as a field. */
  readonly #resource: Uint8Array
  #waiting: Waiting[] = []
  #records = 0
  #bytes = 0
  #timer: NodeJS.Timeout | undefined
  #sending: Promise<void> | undefined
  #tries = 0
  /** Records of the batch that is being sent. */
  #underWay = 0
  #isClosing = false
  /** What was not sent by then is counted as dropped. */
  #isClosed = false

  /** `path`: `/v1/traces`. */
  constructor(client: OtlpClient, path: string, resource: Uint8Array) {
    this.#client = client
    this.#path = path
    this.#resource = resource
  }

  add(bytes: Uint8Array, records: number): void {
    if (this.#isClosing) {
      this.onDropped('shutdown', records)
      return
    }
    if (this.#records + records > MAX_RECORDS || this.#bytes + bytes.length > MAX_BYTES) {
      this.onDropped('queue_full', records)
      return
    }
    this.#waiting.push({ bytes, records })
    this.#records += records
    this.#bytes += bytes.length
    if (this.#timer === undefined && this.#sending === undefined) this.#sendIn(GATHER_MS)
    else if (this.#tries === 0 && this.#sending === undefined && this.#isFull) this.#sendIn(0)
  }

  /** Sends what waits, as long as there is time, and drops the rest. */
  async close(patienceMs: number): Promise<void> {
    this.#isClosing = true
    clearTimeout(this.#timer)
    const flushed = async (): Promise<void> => {
      await this.#sending
      // After one more failure there is no use in waiting.
      for (this.#tries = 0; this.#records > 0 && this.#tries === 0 && !this.#isClosed; ) await this.#send()
    }
    await atMost(patienceMs, flushed())
    this.#isClosed = true
    const left = this.#records + this.#underWay
    if (left > 0) this.onDropped('shutdown', left)
    this.#waiting = []
    this.#records = 0
    this.#bytes = 0
    this.#client.close()
  }

  get #isFull(): boolean {
    return this.#records >= BATCH_RECORDS || this.#bytes >= BATCH_BYTES
  }

  #sendIn(milliseconds: number): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      this.#sending = this.#send().finally(() => {
        this.#sending = undefined
        if (this.#isClosing || this.#records === 0 || this.#timer !== undefined) return
        this.#sendIn(this.#isFull ? 0 : GATHER_MS)
      })
    }, milliseconds)
    this.#timer.unref()
  }

  /** One batch. What cannot be sent now waits at the front. */
  async #send(): Promise<void> {
    const batch = this.#take()
    const records = sumOf(batch)
    this.#underWay = records
    const posted = await this.#client.post(
      this.#path,
      exportRequest(
        this.#resource,
        batch.map(({ bytes }) => bytes),
      ),
    )
    if (this.#isClosed) return
    this.#underWay = 0
    const rejected = Math.min(posted.rejected ?? 0, records)
    this.onSent(posted, records - rejected)
    if (rejected > 0) this.onDropped('refused', rejected)
    if (posted.outcome === 'again' && ++this.#tries < MAX_TRIES) {
      this.#putBack(batch)
      const pause = Math.min(FIRST_PAUSE_MS * 2 ** (this.#tries - 1), LAST_PAUSE_MS) * (0.5 + Math.random() / 2)
      if (!this.#isClosing) this.#sendIn(Math.max(posted.waitMs ?? 0, pause))
      return
    }
    this.#tries = 0
    if (posted.outcome !== 'ok') this.onDropped('refused', records)
  }

  #take(): readonly Waiting[] {
    let [count, records, bytes] = [0, 0, 0]
    for (const one of this.#waiting) {
      if (count > 0 && (records + one.records > BATCH_RECORDS || bytes + one.bytes.length > BATCH_BYTES)) break
      count++
      records += one.records
      bytes += one.bytes.length
    }
    this.#records -= records
    this.#bytes -= bytes
    return this.#waiting.splice(0, count)
  }

  #putBack(batch: readonly Waiting[]): void {
    this.#waiting.unshift(...batch)
    this.#records += sumOf(batch)
    for (const { bytes } of batch) this.#bytes += bytes.length
  }
}

function sumOf(batch: readonly Waiting[]): number {
  let records = 0
  for (const one of batch) records += one.records
  return records
}
