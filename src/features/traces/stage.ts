import { traceparentOf } from '../../core/trace.js'
import type { Call } from '../../kernel/call.js'
import { outcomeOf } from '../../kernel/outcome.js'
import { AttemptTimes, type AttemptView, type Outcome, type Stage } from '../../kernel/stages.js'
import type { Clock } from './clock.js'
import type { Sampler } from './sampling.js'
import type { SpanEvent } from './span.js'
import { GOOD_PHASES, type RouteSpans } from './spans.js'
import type { TraceWriter } from './trace-writer.js'
import { TracedCall } from './traced-call.js'

const NO_EVENTS: readonly SpanEvent[] = []

/** Gives each attempt its place in the trace, and sends the spans of requests that are sampled. */
export class TracesStage implements Stage {
  readonly name = 'traces'
  readonly #writer: TraceWriter
  readonly #sampler: Sampler
  readonly #spans: RouteSpans
  /** A WebSocket is never slow. */
  readonly #isTimed: boolean

  constructor(writer: TraceWriter, sampler: Sampler, spans: RouteSpans, isTimed: boolean) {
    this.#writer = writer
    this.#sampler = sampler
    this.#spans = spans
    this.#isTimed = isTimed
  }

  beforeAttempt(attempt: AttemptView): undefined {
    attempt.times ??= new AttemptTimes()
    TracedCall.of(attempt.call, this.#sampler).attemptOf(attempt)
  }

  onUpstreamRequest(attempt: AttemptView, headers: string[]): void {
    const { call, exchange } = attempt
    if (!exchange.upstream.forward.request('traceparent')) return
    const traced = TracedCall.of(call, this.#sampler)
    const value = traceparentOf(traced.trace.id, traced.attemptOf(attempt).id, traced.isSampled)
    // The state is of a parent: what comes with none, or with one that cannot be read, is not of this trace (W3C Trace Context, §3.3).
    const isNew = traced.trace.parent === undefined
    for (let at = headers.length - 2; at >= 0; at -= 2)
      if (headers[at] === 'traceparent' || (isNew && headers[at] === 'tracestate')) headers.splice(at, 2)
    headers.push('traceparent', value)
  }

  recordAttempt(attempt: AttemptView, outcome: Outcome): void {
    const traced = TracedCall.of(attempt.call, this.#sampler)
    const ended = traced.ended(attempt, outcome)
    // The call may have been recorded before it.
    if (ended === undefined || traced.isKept !== true) return
    this.#writer.write(clock => this.#spans.attempt(ended, traced, clock))
  }

  record(call: Call): void {
    const now = call.ended
    const traced = TracedCall.of(call, this.#sampler)
    traced.isKept = traced.isSampled || this.#sampler.isKept(traced.trace, this.#endOf(call, traced, now))
    if (!traced.isKept) return
    this.#writer.write(clock => this.#spans.of(call, traced, clock, now, this.eventsOf(call, clock, now)))
  }

  /** Further events of the span of a request. */
  protected eventsOf(_call: Call, _clock: Clock, _now: number): readonly SpanEvent[] {
    return NO_EVENTS
  }

  #endOf(call: Call, { attempts }: TracedCall, now: number): { readonly isError: boolean; readonly isSlow: boolean } {
    const outcome = outcomeOf(call.error, call.status)
    const isFailed = outcome === 'upstream_error' || outcome === 'gateway_error'
    const answered = call.stream ? (call.tally.firstByte ?? now) : now
    return {
      isError: isFailed || attempts.some(({ outcome: { phase } }) => !GOOD_PHASES.has(phase)),
      isSlow: this.#isTimed && answered - call.started > this.#sampler.slowAfterMs,
    }
  }
}
