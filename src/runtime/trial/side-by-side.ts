import { DEFAULTS } from '../../core/defaults.generated.js'
import type { ReloadCanary } from '../../core/reload.js'
import type { Running } from '../load.js'
import { isSame } from '../reading/same.js'

/** How a plan takes over: tried first, or at once, and why where that is not what its file says. */
type Introduction = { readonly canary: ReloadCanary } | { readonly reason?: string }

/**
 * How a plan takes over from the one that serves. Most of what belongs to the process (places, memory, the log, telemetry, what is
 * known of upstreams) both share, and the new one's settings of it hold when it has taken over. What would lose something for
 * requests of the new one meanwhile makes it take over at once.
 */
export function introductionOf(before: Running, after: Running): Introduction {
  const [was, is] = [before.plan.reload?.canary, after.plan.reload?.canary]
  if (was === undefined && is === undefined) return {}
  if (was === undefined) return { reason: 'the one that serves has no reload.canary' }
  if (is === undefined) return { reason: 'it has no reload.canary' }
  const shared = Object.entries({
    receipts: isSame(before.config.receipts, after.config.receipts),
    task_kinds: isSame(before.config.task_kinds, after.config.task_kinds),
    time_zone: zoneOf(before) === zoneOf(after),
  }).find(([, isAlike]) => !isAlike)
  return shared === undefined ? { canary: is } : { reason: `the process has one of ${shared[0]}, which changes` }
}

/** Of the windows of limits. */
function zoneOf({ config: { accounting } }: Running): string {
  return accounting?.timeZone ?? DEFAULTS.time_zone
}
