import type { TelemetryConfig, TraceContentConfig } from '../../core/telemetry.js'

const PERCENT = 100
const MS_PER_SECOND = 1000

/** What is sent to a collector, a line each; headers by their names alone. */
export function telemetryFacts({ otlp, service, metrics, logs, traces }: TelemetryConfig): readonly string[] {
  const headers = Object.keys(otlp.headers)
  const more = headers.length === 0 ? '' : `, headers ${headers.join(' ')}`
  const place = `${otlp.endpoint} as ${service}${more}`
  const pushed = metrics ? `metrics: every ${otlp.interval / MS_PER_SECOND} s` : 'metrics off'
  const lines = logs ? ['lines of the log'] : []
  if (traces === undefined) return [place, pushed, ...lines, 'traces off']
  const { errors, slow, slow_after, rest } = traces.sample
  const parts = [`${share(errors)} of errors`, `${share(slow)} beyond ${slow_after} ms`, `${share(rest)} of all`]
  const parent = traces.parent === 'follow' ? 'and what callers sample' : 'not what callers sample'
  return [place, pushed, ...lines, `traces: ${parts.join(', ')}, ${parent}`]
}

/** `spans hold content, masked (2 words), up to 8192 bytes`. */
export function traceContentFact({ content, words, size }: TraceContentConfig): string {
  const masked = content === 'full' ? 'as it is' : words.length === 0 ? 'masked' : `masked (${words.length} words)`
  return `spans hold content, ${masked}, up to ${size} bytes`
}

function share(part: number): string {
  return `${Number((part * PERCENT).toFixed(4))}%`
}
