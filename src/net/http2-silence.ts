import type { ClientHttp2Session } from 'node:http2'
import type { Socket } from 'node:net'
import { TransportFault } from '../transport/client/handler.js'

/** Silence is counted in sweeps: a gateway that was held up has not waited for its upstream meanwhile. */
const ASKS_AFTER_SWEEPS = 10
const GIVES_UP_AFTER_SWEEPS = 10

/**
 * A connection may be dead without a word: what is sent there gets no answer, and no error for many minutes. One that is silent
 * is asked by a ping (RFC 9113 §6.7), which each upstream answers at once, also while its answers take long.
 */
export class Http2Silence {
  readonly #session: ClientHttp2Session
  readonly #socket: Socket
  /** Bytes that had come by the last look. */
  #seen = 0
  #sweeps = 0
  #isAsked = false
  /** Doubles while nothing comes but answers to pings: some upstreams close a connection that asks often. */
  #patience = ASKS_AFTER_SWEEPS
  /** It has answered so lately that a doubt asks nothing. */
  #calm = 0

  constructor(session: ClientHttp2Session, socket: Socket) {
    this.#session = session
    this.#socket = socket
  }

  /** Bytes that have come. */
  get received(): number {
    return this.#socket.bytesRead
  }

  /** It was asked, and nothing has come since. */
  get isDoubted(): boolean {
    return this.#isAsked && this.received === this.#seen
  }

  /** A request was given up for which nothing had come. */
  doubt(): void {
    if (this.#calm === 0) this.#ask()
  }

  /** One that is closing sends no pings, and may still have answers to come. */
  #ask(): void {
    if (this.isDoubted || this.#session.closed || this.#session.destroyed) return
    this.#seen = this.received
    this.#sweeps = 0
    this.#isAsked = true
    this.#session.ping(() => undefined)
  }

  /** Called each second. `isAwaited`: requests wait for the upstream. */
  sweep(isAwaited: boolean): void {
    if (this.#calm > 0) this.#calm--
    if (this.received !== this.#seen) {
      if (this.#isAsked) this.#calm = ASKS_AFTER_SWEEPS
      else this.#patience = ASKS_AFTER_SWEEPS
      this.#seen = this.received
      this.#sweeps = 0
      this.#isAsked = false
      return
    }
    this.#sweeps = isAwaited || this.#isAsked ? this.#sweeps + 1 : 0
    if (this.#isAsked) {
      if (this.#sweeps >= GIVES_UP_AFTER_SWEEPS) this.#giveUp()
    } else if (this.#sweeps >= this.#patience) {
      this.#patience *= 2
      this.#ask()
    }
  }

  #giveUp(): void {
    this.#session.destroy(new TransportFault('CONNECTION_CLOSED', 'The upstream fell silent, and answered no ping.'))
    // The session would wait for bytes that cannot leave.
    this.#socket.destroy()
  }
}
