import { GatewayError } from '../../core/errors.js'
import type { Exchange, Route, Upstream } from '../../core/plan.js'
import { makesThings, mayAskAgain } from '../../core/retry.js'
import type { Call } from '../../kernel/call.js'
import type { Failure } from '../../kernel/failure.js'
import { slot } from '../../kernel/slot.js'
import type { AttemptView, Next, Stage } from '../../kernel/stages.js'
import { type FailedTarget, inOrder, waitAfter } from './again.js'
import type { RetryBudget } from './budget.js'

/** The targets of a call that have failed. */
const FAILED = slot<FailedTarget[]>('failed targets')
/** The repetition that is allowed, and not yet sent. */
const HELD = slot<RetryBudget>('held repetition')

const NONE: readonly Exchange[] = Object.freeze([])

/** What the stage needs of the process. */
export interface Retrying {
  budget(upstream: Upstream): RetryBudget
  /** Monotonic, milliseconds. */
  now(): number
  /** From 0 to below 1. */
  random(): number
}

/** A stream that says nothing has cost little yet, so it has a word of its own; a whole answer may be nearly done. */
function covers({ exchange }: AttemptView, { condition }: Failure): boolean {
  const { retry } = exchange
  return retry.covers(condition) || (condition === 'silent_stream' && retry.covers('first_byte'))
}

/** Decides whether a failed attempt is followed by another one, at which target and when, as `retry` of its target says. */
export class RetriesStage implements Stage {
  readonly name = 'retries'
  readonly #retrying: Retrying
  readonly #isMaking: boolean

  constructor(route: Route, retrying: Retrying) {
    this.#retrying = retrying
    this.#isMaking = makesThings(route)
  }

  beforeAttempt({ call, exchange, isFurther, beside }: AttemptView): GatewayError | undefined {
    const now = this.#retrying.now()
    if (beside !== undefined) return this.#hedge(beside, now)
    const held = isFurther ? undefined : call.get(HELD)
    if (held === undefined) this.#retrying.budget(exchange.upstream).request(now)
    else {
      held.send(now)
      call.set(HELD, undefined)
    }
    return undefined
  }

  /** A hedge is one request more for what the slow upstream was asked: it counts as a repetition there. */
  #hedge({ exchange: { upstream, retry } }: AttemptView, now: number): GatewayError | undefined {
    const budget = this.#retrying.budget(upstream)
    if (!budget.hold(retry.budget, now)) return new GatewayError('unavailable', 'The retry budget has no room.')
    budget.send(now)
    return undefined
  }

  onFailure(attempt: AttemptView, failure: Failure, next: Next): Next {
    const { call, exchange } = attempt
    const { retry } = exchange
    const now = this.#retrying.now()
    const failed = this.#note(attempt, failure, now)
    if (next.isNoted === true) return next
    if (next.tries >= retry.attempts || !(next.isWanted === true || covers(attempt, failure))) {
      return { ...next, left: NONE }
    }
    const first = next.left.findIndex(one => this.#hold(call, one, now))
    if (first >= 0) return first === 0 ? next : { ...next, left: next.left.slice(first) }
    for (const { exchange: again, readyAt } of inOrder(failed)) {
      const waitMs = Math.max(0, readyAt - now)
      // Only a task's submit continues without its client, and does not wait.
      if (call.ended > 0 || now + waitMs - call.started > again.timeouts.total) break
      if (this.#hold(call, again, now)) return { ...next, left: [again], waitMs }
    }
    return { ...next, left: NONE }
  }

  settle(call: Call): void {
    call.get(HELD)?.giveBack()
    call.set(HELD, undefined)
  }

  /** Whether a target may be asked as its upstream's budget has it; what a repetition takes of that is held. */
  #hold(call: Call, { upstream, retry }: Exchange, now: number): boolean {
    const isKnown = call.get(FAILED)?.some(({ exchange }) => exchange.upstream === upstream)
    if (isKnown !== true) return true
    const budget = this.#retrying.budget(upstream)
    if (!budget.hold(retry.budget, now)) return false
    // After the end of the call nothing would give it back.
    if (call.ended > 0) budget.send(now)
    else call.set(HELD, budget)
    return true
  }

  #note({ call, exchange }: AttemptView, { condition, error }: Failure, now: number): readonly FailedTarget[] {
    const all = call.get(FAILED) ?? []
    call.set(FAILED, all)
    let target = all.find(one => one.exchange === exchange)
    if (target === undefined) {
      target = { exchange, failures: 0, readyAt: 0 }
      all.push(target)
    }
    target.failures++
    // A kept-alive connection that the upstream was just closing: the next one is a new one.
    const isStale = condition === 'reset' && target.failures === 1 && !this.#isMaking
    if (isStale) target.readyAt = now
    else if (!mayAskAgain(condition, this.#isMaking)) target.readyAt = Number.POSITIVE_INFINITY
    else
      target.readyAt = now + waitAfter(exchange.retry, target.failures, error.details.retryAfter, this.#retrying.random)
    return all
  }
}
