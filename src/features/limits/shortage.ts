import { ruleUsed } from '../../core/rule-watch.js'
import type { Account } from './account.js'
import type { Meter, Shortage } from './reservation.js'

/** When room may come back that others hold, or requests that run. */
const SOON_MS = 1000

/** The account has no room for an amount at a moment, milliseconds since the epoch. */
export function shortageOf(meter: Meter, account: Account, amount: number, now: number): Shortage {
  const { scope, unit, bound, window } = meter
  if (typeof bound === 'number') ruleUsed(scope.limits.bounds, unit)
  else ruleUsed(bound)
  const left = window === undefined || window === 'total' ? undefined : Math.max(1, account.span.end - now)
  if (amount > meter.amount) return { scope, unit, bound, retryAfterMs: undefined }
  // Room that is only reserved may come back before the window ends.
  const isSpent = account.spentHere + amount > account.bound
  return { scope, unit, bound, retryAfterMs: isSpent ? left : Math.min(left ?? SOON_MS, SOON_MS) }
}

/** The store cannot be asked, and the scope is closed then. */
export function awayOf({ scope, bound }: Meter): Shortage {
  return { scope, unit: 'store', bound, retryAfterMs: SOON_MS }
}

/** Whether the scope refuses where the store cannot be asked. */
export function isClosed({ scope, unit }: Meter): boolean {
  return (scope.limits.when_store_fails ?? (unit === 'budget' ? 'closed' : 'open')) === 'closed'
}
