import type { Exchange } from '../core/plan.js'
import type { Call } from './call.js'
import { chainOf } from './chain.js'
import type { Failure } from './failure.js'
import type { AttemptView, Next } from './stages.js'

const NONE: readonly Exchange[] = Object.freeze([])

/**
 * The way of one call over its candidates. It takes them in order; after a failure stages say which are left
 * (`Stage.onFailure`). Without a stage: those that have not been asked.
 */
export class Walk {
  readonly #call: Call
  #left: readonly Exchange[]
  #at = 0
  #tries = 0

  constructor(call: Call, candidates: readonly Exchange[]) {
    this.#call = call
    this.#left = candidates
  }

  /** The candidate whose turn it is now; undefined: none is left. */
  take(): Exchange | undefined {
    const exchange = this.#left[this.#at]
    if (exchange === undefined) return undefined
    this.#at++
    this.#tries++
    return exchange
  }

  /** The candidate that was taken last was not asked. Returns whether another is left. */
  skip(): boolean {
    this.#tries--
    return this.hasMore
  }

  /** The candidate that was taken last was not asked after all: it is the next one again. */
  putBack(exchange: Exchange): void {
    this.#tries--
    this.#left = [exchange, ...this.#left.slice(this.#at)]
    this.#at = 0
  }

  /** Stages hear of a failure that does not decide what comes next: that of another attempt does. */
  note(attempt: AttemptView, failure: Failure): void {
    const next: Next = { left: NONE, waitMs: 0, tries: this.#tries, isNoted: true }
    for (const onFailure of chainOf(this.#call).onFailure) onFailure(attempt, failure, next)
  }

  /** Whether a candidate is left that would be taken next. */
  get hasMore(): boolean {
    return this.#at < this.#left.length
  }

  /** Whether another candidate may be asked should this one fail. */
  mayLeave({ retry }: Exchange): boolean {
    return this.hasMore && this.#tries < retry.attempts
  }

  /** The attempt at the candidate that was taken last has failed. `left` is empty where its failure is the answer. */
  failed(attempt: AttemptView, failure: Failure): Next {
    const left = this.hasMore ? this.#left.slice(this.#at) : NONE
    let next: Next = { left, waitMs: 0, tries: this.#tries }
    for (const onFailure of chainOf(this.#call).onFailure) next = onFailure(attempt, failure, next)
    this.#left = next.left
    this.#at = 0
    return next
  }
}
