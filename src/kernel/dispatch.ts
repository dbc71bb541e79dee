import type { GatewayError } from '../core/errors.js'
import type { Exchange, Route } from '../core/plan.js'
import type { UpstreamRequest } from '../net/pools.js'
import type { Body } from './admit.js'
import { Attempt } from './attempt.js'
import type { Call, Work } from './call.js'
import type { Failure } from './failure.js'
import { passAnswer } from './upstream-errors.js'
import { buildRequest } from './upstream-request.js'

/**
 * Walks the ordered targets of a call until one begins to answer. Each target is tried once; a connection that broke
 * before any byte (a kept-alive one that the upstream was just closing) may repeat its target once.
 */
export class Dispatch implements Work {
  readonly #call: Call
  readonly #route: Route
  readonly #body: Body
  readonly #exchanges: readonly Exchange[]
  #next = 0
  #tries = 0
  #repeated = false
  #attempt: Attempt | undefined
  readonly #started = performance.now()

  constructor(call: Call, route: Route, body: Body, exchanges: readonly Exchange[]) {
    this.#call = call
    this.#route = route
    this.#body = body
    this.#exchanges = exchanges
  }

  start(): void {
    this.#call.work = this
    this.try()
  }

  check(now: number): void {
    this.#attempt?.check(now)
  }

  cancel(): void {
    this.#attempt?.cancel()
  }

  cut(error: GatewayError): boolean {
    return this.#attempt?.cut(error) ?? false
  }

  private try(): void {
    const exchange = this.#exchanges[this.#next]
    if (exchange === undefined) throw new Error('no exchange is left')
    this.#next++
    this.#tries++
    const attempt = new Attempt(this.#call, this.#route, exchange, this.#started, failure => {
      this.failed(exchange, failure)
    })
    this.#attempt = attempt
    let request: UpstreamRequest
    try {
      request = buildRequest(this.#call, exchange, this.#body)
    } catch (cause) {
      this.#call.fail(cause)
      return
    }
    attempt.send(request)
  }

  private failed(exchange: Exchange, failure: Failure): void {
    const call = this.#call
    if (call.over || call.begun || call.error !== undefined) return
    if (this.mayTryAgain(exchange, failure)) this.try()
    else if (failure.answer !== undefined) passAnswer(call, failure.answer, failure.error)
    else call.fail(failure.error)
  }

  /** Whether the declared rule allows another try; leaves `#next` at the target to be tried. */
  private mayTryAgain({ retry }: Exchange, { condition }: Failure): boolean {
    if (this.#body.type === 'stream' || this.#tries >= retry.attempts || !retry.covers(condition)) return false
    if (this.#next < this.#exchanges.length) return true
    if (condition !== 'reset' || this.#repeated) return false
    this.#repeated = true
    this.#next--
    return true
  }
}
