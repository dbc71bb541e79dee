import { GatewayError } from '../core/errors.js'
import type { RetryCondition } from '../core/limits.js'
import type { Dispatched, UpstreamController, UpstreamHandler, UpstreamRequest } from '../net/pools.js'
import type { UpstreamHeaders } from './response-headers.js'
import { classify, noConnection } from './upstream-errors.js'

/** A whole answer of an upstream. */
export interface UpstreamResponse {
  readonly status: number
  readonly headers: UpstreamHeaders
  /** Empty if only the head was requested. */
  readonly body: Buffer
}

/** There is no answer. */
export class NoResponseError extends Error {
  override readonly name = 'NoResponseError'
  /** Whether a byte of the request may have reached the upstream. */
  readonly sent: boolean
  readonly condition: RetryCondition
  readonly error: GatewayError

  constructor(sent: boolean, condition: RetryCondition, error: GatewayError) {
    super(error.message, { cause: error })
    this.sent = sent
    this.condition = condition
    this.error = error
  }
}

/** A pool or a connection. */
export interface Dispatcher {
  dispatch(request: UpstreamRequest, handler: UpstreamHandler): Dispatched
  /** The exchange that `dispatch` began for this key has ended. */
  finished(key: string): void
  /** The request no longer waits for a connection. */
  withdraw(handler: UpstreamHandler): void
}

interface SendOptions {
  /** Name of the caller's key. */
  readonly key: string
  /** Time limits in milliseconds: until a connection is free, until the request is being sent, and for the whole answer. */
  readonly queue: number
  readonly connect: number
  readonly answer: number
  /** Largest body, bytes; `head`: only the head is needed. */
  readonly maxBytes: number | 'head'
  /** Aborts the request. */
  readonly signal?: AbortSignal
}

/** Sends one request and reads its whole answer, if no client waits for its bytes. Rejects with {@link NoResponseError}. */
export function send(pool: Dispatcher, request: UpstreamRequest, options: SendOptions): Promise<UpstreamResponse> {
  return new Promise((resolve, reject) => {
    const call = new HttpCall(pool, options, resolve, reject)
    options.signal?.addEventListener('abort', call.giveUp)
    call.dispatched(pool.dispatch(request, call))
  })
}

class HttpCall implements UpstreamHandler {
  readonly key: string
  readonly #pool: Dispatcher
  readonly #options: SendOptions
  readonly #resolve: (answer: UpstreamResponse) => void
  readonly #reject: (reason: NoResponseError) => void
  #chunks: Buffer[] = []
  #controller: UpstreamController | undefined
  #timer: NodeJS.Timeout
  #size = 0
  #waits = false
  #sent = false
  #over = false
  #head: Omit<UpstreamResponse, 'body'> | undefined

  constructor(
    pool: Dispatcher,
    options: SendOptions,
    resolve: (answer: UpstreamResponse) => void,
    reject: (reason: NoResponseError) => void,
  ) {
    this.key = options.key
    this.#pool = pool
    this.#options = options
    this.#resolve = resolve
    this.#reject = reject
    this.#timer = setTimeout(() => this.timeOut('connect'), options.connect)
  }

  dispatched(how: Dispatched): void {
    if (how === 'full') this.fail('queue', noConnection('queue'))
    if (how !== 'waiting') return
    this.#waits = true
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.fail('queue', noConnection('connections')), this.#options.queue)
  }

  onPlace(): void {
    this.#waits = false
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.timeOut('connect'), this.#options.connect)
  }

  onRequestStart(controller: UpstreamController): void {
    this.#controller = controller
    if (this.#over) {
      controller.abort(new Error('no one is waiting'))
      return
    }
    this.#sent = true
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.timeOut('first_byte'), this.#options.answer)
  }

  onResponseStart(controller: UpstreamController, status: number, headers: UpstreamHeaders): void {
    if (this.#over) return
    this.#controller = controller
    this.#head = { status, headers }
    if (this.#options.maxBytes === 'head') this.finish()
  }

  onResponseData(_controller: UpstreamController, chunk: Buffer): void {
    this.#size += chunk.length
    if (this.#size <= Number(this.#options.maxBytes)) this.#chunks.push(chunk)
    else {
      const message = 'The answer of the upstream is too large.'
      this.fail('bad_response', new GatewayError('bad_upstream_response', message, { limit: 'response' }))
    }
  }

  onResponseEnd(): void {
    this.#pool.finished(this.key)
    this.finish()
  }

  onResponseError(_controller: UpstreamController, cause: Error): void {
    this.#pool.finished(this.key)
    const { condition, error } = classify(cause, !this.#sent)
    this.fail(condition, error)
  }

  /** Lets go of what would hold it. */
  private settle(): void {
    this.#over = true
    clearTimeout(this.#timer)
    this.#options.signal?.removeEventListener('abort', this.giveUp)
    this.#chunks = []
  }

  private stop(reason: NoResponseError): void {
    if (this.#over) return
    this.settle()
    if (this.#waits) this.#pool.withdraw(this)
    this.#controller?.abort(reason)
    this.#reject(reason)
  }

  private finish(): void {
    if (this.#over || this.#head === undefined) return
    this.#resolve({ ...this.#head, body: Buffer.concat(this.#chunks) })
    this.settle()
    if (this.#options.maxBytes === 'head') this.#controller?.abort(new Error('the head was enough'))
  }

  private fail(condition: RetryCondition, error: GatewayError): void {
    this.stop(new NoResponseError(this.#sent, condition, error))
  }

  readonly giveUp = (): void => this.fail('reset', new GatewayError('client_gone', 'The request was given up.'))

  private timeOut(phase: 'connect' | 'first_byte'): void {
    this.fail(phase, new GatewayError('upstream_timeout', 'The upstream did not answer in time.', { phase }))
  }
}
