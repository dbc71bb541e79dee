import { isLoopback } from '../hosts.js'
import type { Rule } from '../rule.js'

export const metricsOpenToNetwork: Rule = {
  id: 'metrics-open-to-network',
  severity: 'note',
  finds: 'metrics without a key on an address that others reach',
  why: 'Names of models, upstreams and keys, and how much they are used, are for anyone on that network.',
  mend: 'Leave `open` out and give the admin key to Prometheus, or bind `admin.host` to a private network.',
  *check({ config: { admin } }) {
    if (admin?.metrics?.open !== true || isLoopback(admin.host)) return
    yield { path: ['admin', 'metrics'], message: `anyone who reaches ${admin.host} reads the metrics` }
  },
}
