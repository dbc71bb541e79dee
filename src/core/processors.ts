import { availableParallelism } from 'node:os'
import { controlGroup } from './control-group.js'

/** How many processes this one's share of the machine can keep busy. Node counts by a container's bound from 22.10 on. */
export function processors(root = '/'): number {
  return Math.max(1, Math.min(availableParallelism(), Math.round(boundOf(root) ?? Number.POSITIVE_INFINITY)))
}

/** Processors' time in each period; undefined where it has no bound. */
function boundOf(root: string): number | undefined {
  const group = controlGroup('cpu', root)
  const words =
    group?.version === 1
      ? [group.read('cpu.cfs_quota_us'), group.read('cpu.cfs_period_us')]
      : group?.read('cpu.max')?.split(' ')
  const [quota, period] = (words ?? []).map(Number)
  // Without a bound the first version says -1, the second one max.
  return quota !== undefined && period !== undefined && quota > 0 && period > 0 ? quota / period : undefined
}
