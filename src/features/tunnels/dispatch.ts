import type { GatewayError } from '../../core/errors.js'
import type { Exchange, Route } from '../../core/plan.js'
import type { Call } from '../../kernel/call.js'
import type { Failure } from '../../kernel/failure.js'
import { GatedAttempt } from '../../kernel/gated-attempt.js'
import { noteCause } from '../../kernel/outcome.js'
import { passAnswer } from '../../kernel/passed-refusal.js'
import { pause } from '../../kernel/pause.js'
import { logFailed } from '../../kernel/trail.js'
import { Walk } from '../../kernel/walk.js'
import type { Work } from '../../kernel/watchdog.js'
import type { HandshakeExchange } from '../../transport/handshake-exchange.js'
import { TunnelAttempt } from './attempt.js'

/** Tries the ordered targets until one accepts the WebSocket; a session with that one follows. */
export class TunnelDispatch implements Work {
  readonly #call: Call
  readonly #route: Route
  readonly #walk: Walk
  readonly #client: HandshakeExchange
  readonly #started = performance.now()
  #attempt: TunnelAttempt | undefined
  #gated: GatedAttempt | undefined

  constructor(call: Call, route: Route, exchanges: readonly Exchange[], client: HandshakeExchange) {
    this.#call = call
    this.#route = route
    this.#walk = new Walk(call, exchanges)
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
    const exchange = this.#walk.take()
    if (exchange === undefined) throw new Error('no exchange is left')
    const gated = new GatedAttempt(this.#call, exchange)
    this.#gated = gated
    gated.pass(
      () => this.ask(exchange, gated),
      shut => this.skip(shut),
    )
  }

  /** A stage rejected this target before it was called. */
  private skip(shut: GatewayError): void {
    if (!this.#walk.skip()) throw shut
    this.try()
  }

  private ask(exchange: Exchange, gated: GatedAttempt): void {
    const [call, route, client] = [this.#call, this.#route, this.#client]
    const context = { call, route, exchange, gated, client, dispatched: this.#started }
    this.#attempt = new TunnelAttempt(context, failure => this.failed(gated, failure))
    this.#attempt.start()
  }

  private failed(gated: GatedAttempt, failure: Failure): void {
    const call = this.#call
    const {
      left: [next],
      waitMs,
    } = this.#walk.failed(gated, failure)
    if (call.kernel.sink.debugs) logFailed(call, gated.exchange, failure, next)
    this.#attempt = undefined
    noteCause(call, failure)
    if (next === undefined) {
      this.giveUp(failure)
      return
    }
    pause(call, waitMs, continues => {
      if (continues) this.try()
      else this.giveUp(failure)
    })
  }

  private giveUp({ answer, error }: Failure): void {
    if (answer === undefined) this.#call.fail(error)
    else passAnswer(this.#call, answer, error)
  }
}
