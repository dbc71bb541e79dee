import type { AdminHost } from '../admin/host.js'
import { AdminError } from '../admin/route.js'
import { webConsole } from '../features/console/index.js'
import { limits } from '../features/limits/index.js'
import { tail } from '../features/tail/index.js'
import type { Pipeline } from '../kernel/pipeline.js'
import type { GatewayMetrics } from './metrics.js'
import { shownBy } from './resting.js'
import { shownRouting } from './routing.js'

/** What the admin API shows of requests, limits and upstreams. */
export function shownParts(
  pipeline: Pipeline,
  metrics: GatewayMetrics,
): Pick<AdminHost, 'limits' | 'health' | 'routing' | 'metrics' | 'tail' | 'watched'> {
  return {
    limits: async scopes => (await pipeline.serviceOf(limits)?.shown(scopes)) ?? [],
    health: () => shownBy(pipeline),
    routing: () => shownRouting(pipeline),
    metrics: accept => metrics.text(accept),
    watched: () => {
      const service = pipeline.serviceOf(webConsole)
      if (service === undefined) throw new AdminError(409, 'conflict', 'the gateway has no console')
      return service
    },
    tail: filter => pipeline.serviceOf(tail)?.read(filter),
  }
}
