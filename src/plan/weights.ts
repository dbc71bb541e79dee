import type { TargetConfig } from '../core/config.js'
import { isAmongAll, type Strategy } from '../core/strategy.js'

/**
 * Targets in groups: neighbours that carry weights share a group, of which one is drawn in proportion before the others
 * follow; a target without a weight is a group of its own. A strategy that chooses among all has one group.
 */
export function groupTargets(
  targets: readonly TargetConfig[],
  strategy?: Strategy,
): readonly (readonly TargetConfig[])[] {
  if (isAmongAll(strategy)) return [targets]
  const groups: TargetConfig[][] = []
  let open: TargetConfig[] | undefined
  for (const target of targets) {
    if (target.weight === undefined || open === undefined) {
      open = [target]
      groups.push(open)
    } else {
      open.push(target)
    }
    if (target.weight === undefined) open = undefined
  }
  return groups
}
