import { Readable } from 'node:stream'
import { tooLarge } from '../core/admission.js'
import { madeBuffers } from '../core/dead-buffers.js'
import { GatewayError } from '../core/errors.js'
import type { BodyReceiver, HttpExchange } from '../transport/exchange.js'

/** Maximum bytes that wait here; besides them, only the sockets' own buffers hold data. */
const MAX_BUFFERED_BYTES = 64 * 1024

/**
 * A body on its way to its reader, no faster than that one reads it and never more of it in memory than a few pieces.
 * Breaks off with `too_large` past the limit, and with `client_gone` where the client does.
 */
export class Upload extends Readable implements BodyReceiver {
  readonly #request: HttpExchange
  readonly #limit: number
  #size = 0
  #moved = performance.now()

  constructor(request: HttpExchange, limit: number) {
    super({ highWaterMark: MAX_BUFFERED_BYTES })
    this.#request = request
    this.#limit = limit
    // The reader gets the error itself; without a reader it does not matter.
    this.on('error', () => undefined)
    request.receive(this)
  }

  /** Bytes received so far. */
  get size(): number {
    return this.#size
  }

  /** When the last chunk was received or read, by `performance.now()`. */
  get moved(): number {
    return this.#moved
  }

  /** Whether the client is the slow side. */
  get starves(): boolean {
    return !this.#request.complete && this.readableLength === 0
  }

  data(chunk: Buffer): void {
    madeBuffers(chunk.length)
    this.#size += chunk.length
    this.#moved = performance.now()
    if (this.#size > this.#limit) this.destroy(tooLarge(this.#limit))
    else if (!this.push(chunk)) this.#request.pause()
  }

  end(): void {
    this.#moved = performance.now()
    this.push(null)
  }

  gone(): void {
    this.destroy(new GatewayError('client_gone', 'The client disconnected.', { phase: 'upload' }))
  }

  override _read(): void {
    this.#moved = performance.now()
    this.#request.resume()
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#request.pause()
    done(error)
  }
}
