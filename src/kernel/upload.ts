import { Readable } from 'node:stream'
import { tooLarge } from '../core/admission.js'
import { madeBuffers } from '../core/dead-buffers.js'
import { GatewayError } from '../core/errors.js'
import type { BodyReceiver, HttpExchange } from '../transport/exchange.js'
import { slot } from './slot.js'

/** Called with each piece of a body that is passed on, as it arrives. */
export const UPLOAD_OBSERVER = slot<(chunk: Buffer) => void>('observer of the upload')

/** Maximum bytes that wait here; beside them, only the sockets' own buffers contain data. */
const MAX_BUFFERED_BYTES = 64 * 1024

/**
 * A body on its way to its reader, as fast as that one reads; only a few pieces are in memory.
 * Breaks off with `too_large` beyond the limit, and with `client_gone` if the client does.
 */
export class Upload extends Readable implements BodyReceiver {
  readonly #request: HttpExchange
  readonly #limit: number
  readonly #observe: ((chunk: Buffer) => void) | undefined
  #size = 0
  #moved = performance.now()

  /** `observe` is called with each piece as it arrives. */
  constructor(request: HttpExchange, limit: number, observe?: (chunk: Buffer) => void) {
    super({ highWaterMark: MAX_BUFFERED_BYTES })
    this.#request = request
    this.#limit = limit
    this.#observe = observe
    // The reader gets the error itself; without a reader it is irrelevant.
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
    this.#observe?.(chunk)
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
