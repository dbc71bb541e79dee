import { REQUEST_METRICS } from './request-list.js'
import type { MetricSpec } from './spec.js'
import { EVENT_METRICS, STATE_METRICS } from './state-list.js'

/** Every metric, in the order in which it is shown. To add one, write it into its list; `docs/metrics.md` is made of this. @testonly */
export const METRICS: readonly MetricSpec[] = [REQUEST_METRICS, EVENT_METRICS, STATE_METRICS].flatMap(
  (list: Readonly<Record<string, MetricSpec>>) => Object.values(list),
)
