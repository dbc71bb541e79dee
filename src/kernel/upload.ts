import type { IncomingMessage } from 'node:http'
import { Transform, type TransformCallback } from 'node:stream'
import { madeBuffers } from '../core/dead-buffers.js'
import { GatewayError } from '../core/errors.js'

/** Maximum bytes that wait here; besides them, only the sockets' own buffers hold data. */
const MAX_BUFFERED_BYTES = 64 * 1024

/**
 * A body on its way to the upstream, no faster than that one reads it and never more of it in memory than a few pieces.
 * Breaks off with `too_large` past the limit, and with `client_gone` where the client does.
 */
export class Upload extends Transform {
  readonly #request: IncomingMessage
  readonly #limit: number
  #size = 0
  #moved = performance.now()

  constructor(request: IncomingMessage, limit: number) {
    super({ readableHighWaterMark: MAX_BUFFERED_BYTES, writableHighWaterMark: MAX_BUFFERED_BYTES })
    this.#request = request
    this.#limit = limit
    // The sender gets the error itself; without a sender it does not matter.
    this.on('error', () => undefined)
    const gone = (): void => {
      if (!request.complete)
        this.destroy(new GatewayError('client_gone', 'The client disconnected.', { phase: 'upload' }))
    }
    request.on('error', gone)
    request.on('close', gone)
    request.pipe(this)
  }

  /** Bytes received so far. */
  get size(): number {
    return this.#size
  }

  /** When the last chunk was received or sent, by `performance.now()`. */
  get moved(): number {
    return this.#moved
  }

  /** Whether the client is the slow side. */
  get starves(): boolean {
    return !this.#request.complete && this.readableLength === 0
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    madeBuffers(chunk.length)
    this.#size += chunk.length
    this.#moved = performance.now()
    if (this.#size > this.#limit) {
      done(new GatewayError('too_large', `The request body is larger than ${this.#limit} bytes.`, { limit: 'body' }))
      return
    }
    done(null, chunk)
  }

  override _flush(done: TransformCallback): void {
    this.#moved = performance.now()
    done()
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#request.unpipe(this)
    super._destroy(error, done)
  }
}
