import type { Retry, Timeouts } from '../core/limits.js'
import type { RetryPolicy } from '../core/plan.js'

/** Later levels win, setting by setting: everywhere, upstream, route, model. */
export function mergeTimeouts(base: Timeouts, ...levels: readonly Partial<Timeouts>[]): Timeouts {
  return Object.assign({}, base, ...levels)
}

/** As {@link mergeTimeouts}. */
export function mergeRetry(base: Retry, ...levels: readonly Partial<Retry>[]): RetryPolicy {
  const { attempts, on }: Retry = Object.assign({}, base, ...levels)
  const conditions = new Set(on)
  return { attempts, on, covers: condition => conditions.has(condition) }
}
