import { WebSocket } from './framed-socket.js'

/** Longer than any session: when a connection is given up is for its owner to say, which sees whether bytes still go. */
const NO_CLOSE_TIMEOUT_MS = 2 ** 31 - 1

/** Options of each WebSocket whose messages are passed on. Without compression: a small message could unfold to any size. */
export const PASSED = { perMessageDeflate: false, closeTimeout: NO_CLOSE_TIMEOUT_MS } as const

/**
 * A WebSocket whose owner decides when to answer a close frame or a fault of the peer. The library calls its own
 * `close` at once for that. It learns of the connection's end only when the connection really ends.
 */
export class PassedSocket extends WebSocket {
  /** The code for a peer that broke the protocol, or sent too much; 0 for none. */
  faultCode = 0
  #mayClose = false

  /** What the library calls. A close frame comes with its reason, or with nothing at all; a fault with its code alone. */
  override close(code?: number, reason?: string | Buffer): void {
    if (this.#mayClose) super.close(code, reason)
    else if (code !== undefined && reason === undefined) this.faultCode = code
    else this.emit('concluded', code ?? 1005, String(reason ?? ''))
  }

  /** Sends a close frame, the first or the answer, for which the library ends the connection. */
  finish(code?: number, reason?: string): void {
    this.#mayClose = true
    this.close(code, reason)
  }
}
