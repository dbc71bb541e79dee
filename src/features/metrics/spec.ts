/** How figures of several processes are put together. */
type Merge = 'sum' | 'max' | 'min'

/** One metric, as it is registered, shown and documented. */
export interface MetricSpec {
  /** As Prometheus writes it: with its unit, and `_total` where it counts. */
  readonly name: string
  readonly kind: 'counter' | 'gauge' | 'histogram'
  /** The unit in its name; absent: it counts things. */
  readonly unit?: 'seconds' | 'bytes' | 'usd' | 'ratio'
  readonly labels: readonly string[]
  /** One sentence, for `# HELP` and the documentation. */
  readonly help: string
  /** Of histograms: upper bounds, ascending. */
  readonly buckets?: readonly number[]
  /** Of gauges: what several workers show together. Absent: the sum. */
  readonly merge?: Merge
}

/** Metrics are in seconds, clocks in milliseconds. */
export const MS_PER_SECOND = 1000

/** From 1 ms to 1 h, seconds. */
export const TIMES = [
  ...[0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
  ...[60, 120, 300, 600, 1800, 3600],
]
/** From 0.1 ms to 1 min: what the gateway itself does takes far less than 1 ms, unless it has to wait. */
export const SHORT_TIMES = [
  ...[0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
]
