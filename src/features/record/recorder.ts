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
  /** Bytes of it for which the sink has room. */
  #held = 0
  #leftOut: string | undefined
  #head: Pick<WholeExchange, 'status' | 'headers' | 'headAt'> | undefined

  constructor(about: RecordedAbout, request: WholeExchange['request'], sink: RecordingsSink) {
    this.#about = about
    this.#request = request
    this.#sink = sink
  }

  onHead(status: number, headers: UpstreamHeaders): void {
    this.#head = { status, headers, headAt: this.#elapsed() }
  }

  onData(chunk: Buffer): void {
    if (this.#hold(chunk.length) === undefined) this.#pieces.push({ bytes: Buffer.from(chunk), at: this.#elapsed() })
  }

  onEnd(): void {
    const [about, request, head] = [this.#about, this.#request, this.#head]
    if (head === undefined) return
    const why = this.#hold(request.body?.length ?? 0)
    if (why !== undefined) {
      this.#sink.leftOut(about, why)
      return
    }
    const [pieces, held] = [this.#pieces, this.#held]
    this.#pieces = []
    this.#held = 0
    this.#sink.write({ about, time: this.#time, request, pieces, ...head }, held)
  }

  onError(): void {
    this.#leaveOut('it broke off')
  }

  /** Takes room for more of it. Why it is not recorded, where it is not. */
  #hold(bytes: number): string | undefined {
    if (this.#leftOut !== undefined) return this.#leftOut
    if (this.#held + bytes > MAX_EXCHANGE_BYTES) this.#leaveOut('it is too large')
    else if (!this.#sink.reserve(bytes)) this.#leaveOut('too many wait to be written')
    else this.#held += bytes
    return this.#leftOut
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
