import { type IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { markWritten } from '../mark-written.js'

/**
 * The answer to a request that asks for a WebSocket: in words where it is refused, else by leaving HTTP. Node makes no
 * response for such requests.
 */
export class HandshakeResponse extends ServerResponse {
  readonly #socket: Socket
  /** Nobody reads the connection yet, so that its end would otherwise tell nobody anything. */
  readonly #gone = (): void => void this.#socket.destroy()

  constructor(request: IncomingMessage, socket: Duplex) {
    super(request)
    this.#socket = socket as Socket
    this.shouldKeepAlive = false
    this.assignSocket(this.#socket)
    socket.once('end', this.#gone)
    this.once('finish', () => {
      this.leave()
      socket.end(() => socket.destroy())
      this.emit('close')
    })
  }

  /** The connection belongs to the WebSocket from now on. */
  leave(): void {
    this.#socket.off('end', this.#gone)
    this.detachSocket(this.#socket)
  }

  /** The WebSocket that came of it is over. */
  settle(): void {
    markWritten(this)
    this.emit('close')
  }
}
