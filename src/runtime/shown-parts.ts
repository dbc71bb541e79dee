import type { AdminHost } from '../admin/host.js'
import { tail } from '../features/tail/index.js'
import type { Pipeline } from '../kernel/pipeline.js'
import type { GatewayMetrics } from './metrics.js'
import { shownBy } from './resting.js'
import { shownRouting } from './routing.js'

/** What the admin API shows of requests and upstreams. */
export function shownParts(
  pipeline: Pipeline,
  metrics: GatewayMetrics,
): Pick<AdminHost, 'health' | 'routing' | 'metrics' | 'tail'> {
  return {
    health: () => shownBy(pipeline),
    routing: () => shownRouting(pipeline),
    metrics: accept => metrics.text(accept),
    tail: filter => pipeline.serviceOf(tail)?.read(filter),
  }
}
