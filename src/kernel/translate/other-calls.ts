import { GatewayError } from '../../core/errors.js'
import type { Exchange } from '../../core/plan.js'
import { makesThings, mayAskAgain } from '../../core/retry.js'
import type { UpstreamRequest } from '../../net/pools.js'
import { PassingUsage } from '../../wire/usage.js'
import type { Call } from '../call.js'
import { chainOf } from '../chain.js'
import { Drain, drains } from '../drain.js'
import { GatedAttempt } from '../gated-attempt.js'
import { NoResponseError, send, type UpstreamResponse } from '../http-call.js'
import { sentAmounts } from '../sent-amounts.js'
import type { Maybe } from '../stages.js'

/**
 * The further calls of a request that asks for several results of a model that makes one per call. They are made
 * at once; results of failed calls are missing from the answer.
 */
export class OtherCalls {
  readonly #call: Call
  readonly #exchange: Exchange
  readonly #requests: readonly UpstreamRequest[]
  readonly #end = new AbortController()
  #drain: Drain | undefined
  #answers: Promise<readonly (UpstreamResponse | undefined)[]> = Promise.resolve([])

  constructor(call: Call, exchange: Exchange, requests: readonly UpstreamRequest[]) {
    this.#call = call
    this.#exchange = exchange
    this.#requests = requests
  }

  get size(): number {
    return this.#requests.length
  }

  start(): void {
    this.#call.cancellation.add(this)
    this.#answers = Promise.all(this.#requests.map(request => this.send(request, true)))
  }

  /** Answers with a success status that arrive within half of the idle time-out; the other calls are cancelled. */
  async answers(): Promise<readonly UpstreamResponse[]> {
    const timer = setTimeout(() => this.abandon(), this.#exchange.timeouts.idle / 2)
    const answers = await this.#answers
    clearTimeout(timer)
    return answers.filter(answer => answer !== undefined)
  }

  cancel(): void {
    if (this.#drain !== undefined) return
    if (drains(this.#call, this.#exchange)) {
      const drain = new Drain(this.#call, this)
      this.#drain = drain
      void this.#answers.finally(() => drain.end())
    } else this.abandon()
  }

  /** Each of the calls has its own time limits. */
  check(): void {}

  abandon(): void {
    this.#end.abort()
  }

  /** What may have been made is not asked for again. */
  private get mayRepeat(): boolean {
    const { retry } = this.#exchange
    const { route } = this.#call
    return (
      retry.attempts > 1 && retry.covers('reset') && route !== undefined && mayAskAgain('reset', makesThings(route))
    )
  }

  /** A call that a gate or an upstream refuses is missing from the answer. */
  private enter(gated: GatedAttempt): Maybe<GatewayError | 'over' | undefined> {
    const fail = (cause: unknown): 'over' => {
      gated.end('cancelled', undefined, cause instanceof GatewayError ? cause : undefined)
      return 'over'
    }
    try {
      const rejection = gated.enter()
      if (!(rejection instanceof Promise)) return rejection
      // The calls may have been abandoned meanwhile.
      return rejection.then(one => (one === undefined && this.#end.signal.aborted ? fail(undefined) : one)).catch(fail)
    } catch (cause) {
      return fail(cause)
    }
  }

  /** Counts the usage in an answer, even if its result is not used. */
  private count(gated: GatedAttempt, { body }: UpstreamResponse): void {
    const paths = this.#exchange.translation?.usage
    if (paths === undefined) return
    const passing = new PassingUsage(paths)
    passing.push(body)
    gated.usage = passing.usage()
  }

  /** `mayRepeat`: a kept-alive connection may have been closing, as for every request. */
  private async send(request: UpstreamRequest, mayRepeat: boolean): Promise<UpstreamResponse | undefined> {
    const { upstream, model, timeouts } = this.#exchange
    const call = this.#call
    const gated = new GatedAttempt(call, this.#exchange, true)
    gated.calls = this.#requests.length + 1
    gated.sentValues = sentAmounts(call, this.#exchange, undefined, request.body)
    const rejection = this.enter(gated)
    if ((rejection instanceof Promise ? await rejection : rejection) !== undefined) return undefined
    const { pool } = call.generation.reach(upstream)
    const started = performance.now()
    const note = (phase: string, status?: number, error?: GatewayError): void => {
      const milliseconds = Math.round((performance.now() - started) * 100) / 100
      gated.end(phase, status, error)
      call.attempts.push({ upstream: upstream.name, model, phase, status, milliseconds })
    }
    const { queue, connect, first_byte, total } = timeouts
    // All of them together may be as large as one answer.
    const maxBytes = Math.floor((call.route?.limits.response ?? 0) / this.#requests.length)
    const patience = {
      key: call.key,
      queue,
      connect,
      answer: Math.min(first_byte, total),
      maxBytes,
      signal: this.#end.signal,
    }
    try {
      gated.isSent = true
      const headers = [...request.headers]
      for (const onUpstreamRequest of chainOf(call).onUpstreamRequest) onUpstreamRequest(gated, headers)
      const answer = await send(pool, { ...request, headers }, patience)
      this.count(gated, answer)
      const isGood = answer.status >= 200 && answer.status < 300
      note(isGood ? 'ok' : 'status', answer.status)
      return isGood ? answer : undefined
    } catch (error) {
      if (!(error instanceof NoResponseError)) throw error
      const isOver = this.#end.signal.aborted
      gated.isSent = error.sent
      note(isOver ? 'cancelled' : String(error.condition), undefined, error.error)
      return mayRepeat && !isOver && error.condition === 'reset' && this.mayRepeat
        ? this.send(request, false)
        : undefined
    }
  }
}
