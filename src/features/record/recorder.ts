import type { UpstreamHeaders } from '../../kernel/response-headers.js'
import type { ExchangeObserver } from '../../net/pools.js'
import type { RecordingsSink } from '../../sinks/recordings/recordings-sink.js'
import type { Piece, RecordedAbout, WholeExchange } from '../../sinks/recordings/whole-exchange.js'

/** Most of an exchange that is recorded, bytes: a larger one is not. */
const MAX_EXCHANGE_BYTES = 32 * 1024 * 1024

/** Gathers one exchange. One that breaks off, or is too large, is not recorded. */
export class Recorder implements ExchangeObserver {
  readonly #about: RecordedAbout
  readonly #request: WholeExchange['request']
  readonly #sink: RecordingsSink
  readonly #time = Date.now()
  readonly #started = performance.now()
  readonly #pieces: Piece[] = []
  #size: number
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
    if (this.#size > MAX_EXCHANGE_BYTES) this.#pieces.length = 0
    else this.#pieces.push({ bytes: Buffer.from(chunk), at: this.#elapsed() })
  }

  onEnd(): void {
    if (this.#head === undefined) return
    if (this.#size > MAX_EXCHANGE_BYTES) {
      this.#sink.leftOut(this.#about, 'it is too large')
      return
    }
    const [about, request, pieces] = [this.#about, this.#request, this.#pieces]
    this.#sink.write({ about, time: this.#time, request, pieces, ...this.#head }, this.#size)
  }

  #elapsed(): number {
    return Math.round(performance.now() - this.#started)
  }
}
