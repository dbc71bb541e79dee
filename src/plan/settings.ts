import type { HealthRule, HealthSettings } from '../core/health.js'
import type { Retry, Timeouts } from '../core/limits.js'
import type { Exchange, RetryPolicy } from '../core/plan.js'
import { ruleUsed } from '../core/rule-watch.js'
import { withFirstEvent } from '../core/timeouts.js'

/** Later levels win, setting by setting: everywhere, upstream, route, model. */
export function mergeTimeouts(base: Timeouts, ...levels: readonly Partial<Timeouts>[]): Timeouts {
  return Object.assign({}, base, ...levels.map(withFirstEvent))
}

/** As {@link mergeTimeouts}. */
export function mergeRetry(base: Retry, ...levels: readonly Partial<Retry>[]): RetryPolicy {
  const retry: Retry = Object.assign({}, base, ...levels)
  const conditions = new Set(retry.on)
  const covers: RetryPolicy['covers'] = condition => {
    const isCovered = conditions.has(condition)
    if (isCovered) ruleUsed(retry.on, condition)
    return isCovered
  }
  return { ...retry, covers }
}

/** As {@link mergeTimeouts}; a level that says anything but `off` switches it on again. Empty where it is off. */
export function mergeHealth(
  base: HealthRule & HealthSettings,
  ...levels: readonly (HealthSettings | undefined)[]
): Pick<Exchange, 'health'> {
  const { isOn = true, probe: _, ...health }: HealthRule & HealthSettings = Object.assign({}, base, ...levels)
  return isOn ? { health } : {}
}
