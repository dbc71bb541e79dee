import { newSpanId, type TraceContext } from '../../core/trace.js'
import type { Call } from '../../kernel/call.js'
import { slot } from '../../kernel/slot.js'
import type { AttemptView, Outcome } from '../../kernel/stages.js'
import type { Sampler } from './sampling.js'

/** Most attempts of a request that have spans. */
const MAX_ATTEMPTS = 100

const TRACED_CALL = slot<TracedCall>('traces: call')
const TRACED_ATTEMPT = slot<TracedAttempt>('traces: attempt')

/** An attempt under way. `started` as `performance.now()`. */
interface TracedAttempt {
  readonly id: string
  readonly started: number
}

/** An attempt that has ended. */
export interface EndedAttempt extends TracedAttempt {
  readonly attempt: AttemptView
  readonly outcome: Outcome
  readonly ended: number
}

/** What is kept of a request until it is known whether its spans are sent. */
export class TracedCall {
  readonly trace: TraceContext
  /** Whether upstreams hear that the trace is recorded. */
  readonly isSampled: boolean
  readonly attempts: EndedAttempt[] = []
  /** When the first attempt began: the request was admitted then. 0: there was none. */
  admitted = 0
  /** Undefined as long as the request has not ended. */
  isKept: boolean | undefined

  private constructor(trace: TraceContext, isSampled: boolean) {
    this.trace = trace
    this.isSampled = isSampled
  }

  static of(call: Call, sampler: Sampler): TracedCall {
    const known = call.get(TRACED_CALL)
    if (known !== undefined) return known
    const { trace } = call
    const made = new TracedCall(trace, sampler.isSampled(trace))
    call.set(TRACED_CALL, made)
    return made
  }

  attemptOf(attempt: AttemptView): TracedAttempt {
    const known = attempt.get(TRACED_ATTEMPT)
    if (known !== undefined) return known
    const made = { id: newSpanId(), started: performance.now() }
    attempt.set(TRACED_ATTEMPT, made)
    if (this.admitted === 0) this.admitted = made.started
    return made
  }

  /** Undefined: it has no span. */
  ended(attempt: AttemptView, outcome: Outcome): EndedAttempt | undefined {
    if (this.attempts.length >= MAX_ATTEMPTS) return undefined
    const { id, started } = this.attemptOf(attempt)
    const ended = { attempt, outcome, id, started, ended: attempt.ended }
    this.attempts.push(ended)
    return ended
  }
}
