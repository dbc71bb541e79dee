import type {
  AnswerHeaders,
  ExchangeHandler,
  ExchangeObserver,
  UpstreamController,
} from '../transport/client/handler.js'

/** An exchange at which an observer looks on: it sees each piece before the handler does. */
export class ObservedExchange implements ExchangeHandler {
  readonly #handler: ExchangeHandler
  readonly #observer: ExchangeObserver

  constructor(handler: ExchangeHandler, observer: ExchangeObserver) {
    this.#handler = handler
    this.#observer = observer
  }

  onRequestStart(controller: UpstreamController): void {
    this.#handler.onRequestStart(controller)
  }

  onResponseStart(controller: UpstreamController, status: number, headers: AnswerHeaders): void {
    this.#observer.onHead(status, headers)
    this.#handler.onResponseStart(controller, status, headers)
  }

  onResponseData(controller: UpstreamController, chunk: Buffer): void {
    this.#observer.onData(chunk)
    this.#handler.onResponseData(controller, chunk)
  }

  onResponseEnd(controller: UpstreamController): void {
    this.#observer.onEnd()
    this.#handler.onResponseEnd(controller)
  }

  onResponseError(controller: UpstreamController, cause: Error): void {
    this.#observer.onError()
    this.#handler.onResponseError(controller, cause)
  }
}
