import { outOfRegions } from '../../core/refusals.js'
import { mayReach } from '../../core/region.js'
import type { Feature, Stage } from '../../kernel/stages.js'

/**
 * Candidates outside of the caller's regions are removed, wherever they come from: the targets of a model or of its fallbacks,
 * the upstream that keeps a file or a task. A feature that adds candidates comes before this one in the list of features.
 */
const STAGE: Stage = {
  name: 'regions',
  narrow(call, candidates) {
    const regions = call.caller?.regions
    if (regions === undefined) return candidates
    const left = candidates.filter(({ upstream }) => mayReach(regions, upstream.region))
    if (left.length === 0)
      throw outOfRegions(
        call.route,
        call.model,
        candidates.map(({ upstream }) => upstream.name),
      )
    return left
  },
}

export const regions: Feature = {
  name: 'regions',
  compile({ plan, route }) {
    return plan.hasRegions && route !== undefined && route.lane !== 'answer' ? STAGE : undefined
  },
}
