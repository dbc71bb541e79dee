import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { type ClientCertificate, certificateOf } from './client-certificate.js'
import type { BodyReceiver, HttpExchange, HttpRequest } from './exchange.js'
import { linger } from './linger.js'

/** The head of a request of `node:http`. */
export class NodeRequest implements HttpRequest {
  readonly method: string
  readonly target: string
  readonly httpVersion: string
  readonly headers: IncomingHttpHeaders
  readonly rawHeaders: readonly string[]
  readonly remoteAddress: string | undefined
  readonly connection: object

  constructor(incoming: IncomingMessage) {
    const { method = '', url = '', socket } = incoming
    this.method = method
    this.target = url
    this.httpVersion = incoming.httpVersion
    this.headers = incoming.headers
    this.rawHeaders = incoming.rawHeaders
    // Read now: a closed socket has no address.
    this.remoteAddress = socket.remoteAddress
    this.connection = socket
  }

  get isEncrypted(): boolean {
    return 'encrypted' in this.connection && this.connection.encrypted === true
  }

  get certificate(): ClientCertificate | undefined {
    return certificateOf(this.connection)
  }
}

/** A request and response of `node:http`. */
export class NodeExchange extends NodeRequest implements HttpExchange {
  readonly whole = undefined
  onDrain: (() => void) | undefined
  onClose: (() => void) | undefined
  readonly #incoming: IncomingMessage
  readonly #response: ServerResponse
  #receiver: BodyReceiver | undefined
  #draining = false
  #closed = false

  constructor(incoming: IncomingMessage, response: ServerResponse) {
    super(incoming)
    this.#incoming = incoming
    this.#response = response
    const close = (): void => this.close()
    response.on('close', close)
    if (response.socket === null) onceGone(incoming, response, close)
  }

  get complete(): boolean {
    return this.#incoming.complete
  }

  receive(receiver: BodyReceiver): void {
    const incoming = this.#incoming
    this.#receiver = receiver
    incoming.on('data', (chunk: Buffer) => this.#receiver?.data(chunk))
    incoming.on('end', () => this.#receiver?.end())
    incoming.on('close', () => {
      // Node closes every request; only one that is not complete was broken off.
      if (!incoming.complete) this.#receiver?.gone()
    })
  }

  /** Without effect once the receiver has been taken away: the rest must flow then. */
  pause(): void {
    if (this.#receiver !== undefined) this.#incoming.pause()
  }

  resume(): void {
    if (this.#receiver !== undefined) this.#incoming.resume()
  }

  invite(): void {
    this.#response.writeContinue()
  }

  get begun(): boolean {
    return this.#response.headersSent
  }

  get finished(): boolean {
    return this.#response.writableFinished
  }

  head(status: number, headers: string[]): void {
    this.#response.writeHead(status, headers)
  }

  flush(): void {
    this.#response.flushHeaders()
  }

  write(bytes: Uint8Array): boolean {
    if (this.#response.write(bytes)) return true
    if (!this.#draining) {
      this.#draining = true
      this.#response.once('drain', () => {
        this.#draining = false
        this.onDrain?.()
      })
    }
    return false
  }

  end(bytes?: Uint8Array | string, encoding: 'latin1' | 'utf8' = 'utf8'): void {
    if (bytes === undefined) this.#response.end()
    else this.#response.end(bytes, encoding)
  }

  destroy(): void {
    // A pipelined response has no socket yet, but its request has.
    if (this.begun) this.#response.destroy()
    else this.#incoming.destroy()
  }

  linger(): void {
    this.#receiver = undefined
    linger(this.#incoming, this.#response)
  }

  protected close(): void {
    if (this.#closed) return
    this.#closed = true
    this.onClose?.()
  }
}

/** Reports a lost client of a response without a socket: a pipelined one has none until its turn, so it misses `close`. */
function onceGone({ socket }: IncomingMessage, response: ServerResponse, gone: () => void): void {
  socket.setMaxListeners(0)
  socket.once('close', gone)
  response.once('close', () => socket.off('close', gone))
}
