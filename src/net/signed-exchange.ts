import type {
  AnswerHeaders,
  ExchangeHandler,
  UpstreamController,
  UpstreamRequest,
} from '../transport/client/handler.js'
import type { RequestSigner } from './signer.js'

/**
 * An exchange whose request is signed first. A refused credential is renewed once, and the request sent again: the handler
 * hears of one exchange, whose controller this is.
 */
export class SignedExchange implements ExchangeHandler, UpstreamController {
  readonly #signer: RequestSigner
  readonly #request: UpstreamRequest
  readonly #handler: ExchangeHandler
  readonly #send: (request: UpstreamRequest, handler: ExchangeHandler) => void
  #controller: UpstreamController | undefined
  #signed: UpstreamRequest
  /** A body that is a stream can be sent once. */
  #mayRenew: boolean
  #isBegun = false
  #isOver = false
  /** The present exchange is given up for another one. */
  #isAgain = false

  constructor(
    signer: RequestSigner,
    request: UpstreamRequest,
    handler: ExchangeHandler,
    send: (request: UpstreamRequest, handler: ExchangeHandler) => void,
  ) {
    this.#signer = signer
    this.#request = request
    this.#signed = request
    this.#handler = handler
    this.#send = send
    this.#mayRenew = request.body === null || request.body instanceof Uint8Array
  }

  start(): void {
    let signed: UpstreamRequest | Promise<UpstreamRequest>
    try {
      signed = this.#signer.sign(this.#request)
    } catch (cause) {
      this.#fail(cause as Error)
      return
    }
    if (!(signed instanceof Promise)) {
      this.#sendSigned(signed)
      return
    }
    signed.then(
      one => {
        if (!this.#isOver) this.#sendSigned(one)
      },
      cause => this.#fail(cause),
    )
  }

  #sendSigned(signed: UpstreamRequest): void {
    this.#signed = signed
    this.#send(signed, this)
  }

  // The controller of the handler.

  get paused(): boolean {
    return this.#controller?.paused ?? false
  }

  pause(): void {
    this.#controller?.pause()
  }

  resume(): void {
    this.#controller?.resume()
  }

  abort(reason: Error): void {
    if (this.#controller === undefined) this.#fail(reason)
    else this.#controller.abort(reason)
  }

  // The handler of the exchanges.

  onRequestStart(controller: UpstreamController): void {
    if (this.#isOver) {
      controller.abort(new Error('the exchange is over'))
      return
    }
    this.#controller = controller
    if (this.#isBegun) return
    this.#isBegun = true
    this.#handler.onRequestStart(this)
  }

  onResponseStart(controller: UpstreamController, status: number, headers: AnswerHeaders): void {
    this.#controller = controller
    if (!this.#mayRenew || !this.#signer.isRefusal(status, headers)) {
      this.#handler.onResponseStart(this, status, headers)
      return
    }
    this.#mayRenew = false
    controller.pause()
    const goOn = (): void => {
      if (this.#isOver) return
      this.#handler.onResponseStart(this, status, headers)
      controller.resume()
    }
    this.#signer.renew(this.#signed).then(isRenewed => {
      if (!isRenewed || this.#isOver) return goOn()
      this.#isAgain = true
      controller.abort(new Error('the request is sent again with a new credential'))
    }, goOn)
  }

  onResponseData(_controller: UpstreamController, chunk: Buffer): void {
    this.#handler.onResponseData(this, chunk)
  }

  onResponseEnd(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#handler.onResponseEnd(this)
  }

  onResponseError(_controller: UpstreamController, cause: Error): void {
    this.#controller = undefined
    if (!this.#isAgain) {
      this.#fail(cause)
      return
    }
    this.#isAgain = false
    this.start()
  }

  #fail(cause: Error): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#handler.onResponseError(this, cause)
  }
}
