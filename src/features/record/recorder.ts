import type { UpstreamHeaders } from '../../kernel/response-headers.js'
import type { ExchangeObserver, SessionObserver } from '../../net/pools.js'
import type { RecordingsSink } from '../../sinks/recordings/recordings-sink.js'
import type { Piece, RecordedAbout, WholeExchange } from '../../sinks/recordings/whole-exchange.js'
import { SessionRecorder } from './session-recorder.js'

/** Most of an exchange that is recorded, bytes: a larger one is not. */
const MAX_EXCHANGE_BYTES = 32 * 1024 * 1024

/** Gathers one exchange. One that breaks off, or is too large, is not recorded; of a session what there was is. */
export class Recorder implements ExchangeObserver {
  readonly #about: RecordedAbout
  readonly #request: WholeExchange['request']
  readonly #sink: RecordingsSink
  readonly #time = Date.now()
  readonly #started = performance.now()
  #pieces: Piece[] = []
  #size: number
  /** Bytes of pieces for which the sink has room. */
  #held = 0
  #leftOut: string | undefined
  #head: Pick<WholeExchange, 'status' | 'headers' | 'headAt'> | undefined

  constructor(about: RecordedAbout, request: WholeExchange['request'], sink: RecordingsSink) {
    this.#about = about
    this.#request = request
    this.#sink = sink
    this.#size = request.body?.length ?? 0
  }

  onHead(status: number, headers: UpstreamHeaders): void {
    this.#head = { status, headers, headAt: this.#elapsed() }
  }

  onData(chunk: Buffer): void {
    this.#size += chunk.length
    if (this.#leftOut !== undefined) return
    if (this.#size > MAX_EXCHANGE_BYTES) this.#leaveOut('it is too large')
    else if (!this.#sink.reserve(chunk.length)) this.#leaveOut('too many wait to be written')
    else {
      this.#held += chunk.length
      this.#pieces.push({ bytes: Buffer.from(chunk), at: this.#elapsed() })
    }
  }

  onEnd(): void {
    const [about, request, pieces, head] = [this.#about, this.#request, this.#pieces, this.#head]
    if (head === undefined) return
    const more = request.body?.length ?? 0
    if (this.#leftOut === undefined && this.#size > MAX_EXCHANGE_BYTES) this.#leaveOut('it is too large')
    if (this.#leftOut === undefined && !this.#sink.reserve(more)) this.#leaveOut('too many wait to be written')
    if (this.#leftOut !== undefined) {
      this.#sink.leftOut(about, this.#leftOut)
      return
    }
    const held = this.#held
    this.#held = 0
    this.#pieces = []
    this.#sink.write({ about, time: this.#time, request, pieces, ...head }, held + more)
  }

  onError(): void {
    this.#leaveOut('it broke off')
  }

  #leaveOut(reason: string): void {
    this.#leftOut = reason
    this.#sink.release(this.#held)
    this.#held = 0
    this.#pieces = []
  }

  onSession(): SessionObserver {
    const [about, time, request] = [this.#about, this.#time, this.#request]
    const { status, headers, headAt } = this.#head ?? { status: 101, headers: {}, headAt: this.#elapsed() }
    return new SessionRecorder({ about, time, request, status, headers, headAt }, this.#sink, () => this.#elapsed())
  }

  #elapsed(): number {
    return Math.round(performance.now() - this.#started)
  }
}
