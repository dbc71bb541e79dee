import type { Exchange } from '../../core/plan.js'
import type { UpstreamRequest } from '../../net/pools.js'
import type { Call } from '../call.js'
import { NoResponseError, send, type UpstreamResponse } from '../http-call.js'

/**
 * The calls beside the first one of a request that asks for several things of a model that makes one for each. They are made
 * at once; what does not come well is missing from the answer.
 */
export class OtherCalls {
  readonly #call: Call
  readonly #exchange: Exchange
  readonly #requests: readonly UpstreamRequest[]
  readonly #end = new AbortController()
  #answers: Promise<readonly (UpstreamResponse | undefined)[]> = Promise.resolve([])

  constructor(call: Call, exchange: Exchange, requests: readonly UpstreamRequest[]) {
    this.#call = call
    this.#exchange = exchange
    this.#requests = requests
  }

  start(): void {
    this.#call.cancellation.add(this)
    this.#answers = Promise.all(this.#requests.map(request => this.send(request, true)))
  }

  /** Those that came well within half of the time in which an upstream may be silent; the others are given up. */
  async answers(): Promise<readonly UpstreamResponse[]> {
    const timer = setTimeout(() => this.cancel(), this.#exchange.timeouts.idle / 2)
    const answers = await this.#answers
    clearTimeout(timer)
    return answers.filter(answer => answer !== undefined)
  }

  cancel(): void {
    this.#end.abort()
  }

  private get mayRepeat(): boolean {
    const { retry } = this.#exchange
    return retry.attempts > 1 && retry.covers('reset')
  }

  /** `mayRepeat`: a kept-alive connection may have been closing, as for every request. */
  private async send(request: UpstreamRequest, mayRepeat: boolean): Promise<UpstreamResponse | undefined> {
    const { upstream, model, timeouts } = this.#exchange
    const call = this.#call
    const { pool } = call.generation.reach(upstream)
    const started = performance.now()
    const note = (phase: string, status?: number): void => {
      const milliseconds = Math.round((performance.now() - started) * 100) / 100
      call.attempts.push({ upstream: upstream.name, model, phase, status, milliseconds })
    }
    const { queue, connect, first_byte, total } = timeouts
    // All of them together are no larger than one answer may be.
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
      const answer = await send(pool, request, patience)
      const isGood = answer.status >= 200 && answer.status < 300
      note(isGood ? 'ok' : 'status', answer.status)
      return isGood ? answer : undefined
    } catch (error) {
      if (!(error instanceof NoResponseError)) throw error
      const isOver = this.#end.signal.aborted
      note(isOver ? 'cancelled' : String(error.condition))
      return mayRepeat && !isOver && error.condition === 'reset' && this.mayRepeat
        ? this.send(request, false)
        : undefined
    }
  }
}
