import type { GatewayError } from '../../core/errors.js'
import type { Exchange, Route } from '../../core/plan.js'
import type { HandshakeExchange } from '../../transport/handshake-exchange.js'
import { noteCause } from '../account.js'
import type { Call } from '../call.js'
import type { Failure } from '../failure.js'
import { GatedAttempt } from '../gated-attempt.js'
import { passAnswer } from '../passed-refusal.js'
import { logFailed } from '../trail.js'
import type { Work } from '../watchdog.js'
import { TunnelAttempt } from './attempt.js'

/** Walks the ordered targets until one agrees to a WebSocket; what follows is a session with that one. */
export class TunnelDispatch implements Work {
  readonly #call: Call
  readonly #route: Route
  readonly #exchanges: readonly Exchange[]
  readonly #client: HandshakeExchange
  readonly #started = performance.now()
  #next = 0
  #attempt: TunnelAttempt | undefined
  #gated: GatedAttempt | undefined

  constructor(call: Call, route: Route, exchanges: readonly Exchange[], client: HandshakeExchange) {
    this.#call = call
    this.#route = route
    this.#exchanges = exchanges
    this.#client = client
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
    this.#gated?.end('cancelled', undefined, this.#call.error)
  }

  cut(error: GatewayError): boolean {
    return this.#attempt?.cut(error) ?? false
  }

  private try(): void {
    const exchange = this.#exchanges[this.#next++]
    if (exchange === undefined) throw new Error('no exchange is left')
    const gated = new GatedAttempt(this.#call, exchange)
    this.#gated = gated
    gated.pass(
      () => this.ask(exchange, gated),
      shut => this.skip(shut),
    )
  }

  /** A stage gives this target up before it is asked. */
  private skip(shut: GatewayError): void {
    if (this.#next >= this.#exchanges.length) throw shut
    this.try()
  }

  private ask(exchange: Exchange, gated: GatedAttempt): void {
    const [call, route, client] = [this.#call, this.#route, this.#client]
    const context = { call, route, exchange, gated, client, dispatched: this.#started }
    this.#attempt = new TunnelAttempt(context, failure => this.failed(exchange, failure))
    this.#attempt.start()
  }

  private failed(exchange: Exchange, failure: Failure): void {
    const call = this.#call
    const isLeft = this.#next < this.#exchanges.length && this.#next < exchange.retry.attempts
    const again = isLeft && exchange.retry.covers(failure.condition)
    if (call.kernel.sink.debugs) logFailed(call, exchange, failure, again ? this.#exchanges[this.#next] : undefined)
    if (again) {
      noteCause(call, failure)
      this.try()
    } else if (failure.answer !== undefined) passAnswer(call, failure.answer, failure.error)
    else call.fail(failure.error)
  }
}
