import { type IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { NodeExchange } from './node-exchange.js'

/**
 * A request that asks for a WebSocket. Its answer is HTTP if the request is refused; otherwise the connection leaves HTTP.
 * Node makes no response for such requests.
 */
export class HandshakeExchange extends NodeExchange {
  readonly incoming: IncomingMessage
  readonly socket: Duplex
  /** The bytes that came after the request. */
  readonly rest: Buffer
  readonly #response: ServerResponse
  /** Nothing reads the connection yet, so its end would go unnoticed. */
  readonly #gone = (): void => void this.socket.destroy()
  #settled = false

  constructor(incoming: IncomingMessage, socket: Duplex, rest: Buffer) {
    const response = new ServerResponse(incoming)
    response.shouldKeepAlive = false
    response.assignSocket(socket as Socket)
    super(incoming, response)
    this.incoming = incoming
    this.socket = socket
    this.rest = rest
    this.#response = response
    socket.once('end', this.#gone)
    response.once('finish', () => {
      this.leave()
      socket.end(() => socket.destroy())
      this.close()
    })
  }

  override get finished(): boolean {
    return this.#settled || super.finished
  }

  /** The connection belongs to the WebSocket from now on. */
  leave(): void {
    this.socket.off('end', this.#gone)
    this.#response.detachSocket(this.socket as Socket)
  }

  /** The WebSocket that came of it has ended. */
  settle(): void {
    this.#settled = true
    this.close()
  }
}
