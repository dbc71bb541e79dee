import type { RetryCondition } from './limits.js'
import { passes, type Test } from './when.js'

/** Causes of a target's failure for which another model may help. */
export const FAILURE_CAUSES = ['context_too_long', 'content_refused', 'overloaded', 'timeout', 'rate_limited'] as const
export type FailureCause = (typeof FAILURE_CAUSES)[number]

/** Causes in the request itself: the model's other targets would fail, too. */
export const OF_REQUEST: ReadonlySet<FailureCause> = new Set(['context_too_long', 'content_refused'])

/** By dotted path. */
type Rule = Readonly<Record<string, Test>>

/** How a protocol's errors tell a cause: one of the rules of a cause must hold, with all of its members. */
export type FailureRules = Readonly<Partial<Record<FailureCause, readonly Rule[]>>>

/**
 * The cause of a failure. `said`: reads the upstream's error by a dotted path. What it says comes before its status: some tell with
 * a 400 that they are overloaded, and with a 429 that the request is too long.
 */
export function causeOf(
  condition: RetryCondition,
  isTimeout: boolean,
  rules: FailureRules | undefined,
  said: (path: string) => unknown,
): FailureCause | undefined {
  for (const cause of FAILURE_CAUSES) {
    if (rules?.[cause]?.some(rule => Object.entries(rule).every(([path, test]) => passes(test, said(path)))))
      return cause
  }
  if (isTimeout || condition === 'first_byte' || condition === 408 || condition === 504) return 'timeout'
  if (condition === 429) return 'rate_limited'
  return OVERLOADED.has(condition) ? 'overloaded' : undefined
}

const OVERLOADED: ReadonlySet<RetryCondition> = new Set(['connect', 'reset', 'queue', 502, 503, 529])
