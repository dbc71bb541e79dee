import type { Exchange, RetryPolicy } from '../../core/plan.js'

/** A target of a call that has failed. */
export interface FailedTarget {
  readonly exchange: Exchange
  /** How often. */
  failures: number
  /** When it may be asked again, monotonic, milliseconds; infinite: never. */
  readyAt: number
}

/**
 * Wait before a target is asked again, milliseconds; infinite where it wants a longer one than is allowed. `failures`: of this
 * target in this call, the last one included. Drawn from nothing to the bound (full jitter), so that calls that failed together
 * do not come back together.
 */
export function waitAfter(
  { wait, max_wait }: Pick<RetryPolicy, 'wait' | 'max_wait'>,
  failures: number,
  wanted: number | undefined,
  random: () => number,
): number {
  if (wanted === undefined) return random() * Math.min(max_wait, wait * 2 ** (failures - 1))
  return wanted > max_wait ? Number.POSITIVE_INFINITY : Math.min(max_wait, wanted + random() * wait)
}

/** The targets that may be asked again, the one that may be soonest first. */
export function inOrder(failed: readonly FailedTarget[]): readonly FailedTarget[] {
  return failed.filter(({ readyAt }) => Number.isFinite(readyAt)).sort((one, other) => one.readyAt - other.readyAt)
}
