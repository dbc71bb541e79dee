import type { Steps } from '../../core/steps.js'
import type { Series } from './series.js'
import type { MetricSpec } from './spec.js'

/** A metric and what is known of it. */
export interface Shown {
  readonly spec: MetricSpec
  readonly series: Iterable<Series>
}

/** A text format of metrics. */
interface Format {
  readonly type: string
  readonly isOpen: boolean
}

/** https://prometheus.io/docs/instrumenting/exposition_formats/ */
const PROMETHEUS: Format = { type: 'text/plain; version=0.0.4; charset=utf-8', isOpen: false }
/** https://github.com/prometheus/OpenMetrics/blob/main/specification/OpenMetrics.md */
const OPEN_METRICS: Format = { type: 'application/openmetrics-text; version=1.0.0; charset=utf-8', isOpen: true }

/** Series written in one step. */
const STEP_SERIES = 50

/** OpenMetrics where the client takes it, at least as gladly as plain text. */
export function formatFor(accept = ''): Format {
  const weights = { open: 0, plain: 0 }
  for (const range of accept.toLowerCase().split(',')) {
    const [type = '', ...parameters] = range.split(';').map(part => part.trim())
    const quality = Number(parameters.find(one => one.startsWith('q='))?.slice(2) ?? 1)
    if (type === 'application/openmetrics-text') weights.open = Math.max(weights.open, quality)
    if (type === 'text/plain') weights.plain = Math.max(weights.plain, quality)
  }
  return weights.open > 0 && weights.open >= weights.plain ? OPEN_METRICS : PROMETHEUS
}

/** The text of all metrics, those without series too. */
export function* textOf(shown: Iterable<Shown>, { isOpen }: Format): Steps<string> {
  const lines: string[] = []
  let written = 0
  for (const { spec, series } of shown) {
    lines.push(...headOf(spec, isOpen))
    const write = spec.kind === 'histogram' ? writeHistogram : writeValue
    for (const one of series) {
      write(lines, spec, one, isOpen)
      if (++written % STEP_SERIES === 0) yield
    }
    yield
  }
  if (isOpen) lines.push('# EOF')
  return `${lines.join('\n')}\n`
}

function headOf({ name, kind, unit, help }: MetricSpec, isOpen: boolean): readonly string[] {
  // In OpenMetrics what counts has a name without its suffix.
  const family = isOpen && kind === 'counter' ? name.replace(/_total$/, '') : name
  const lines = [`# HELP ${family} ${escaped(help, isOpen)}`, `# TYPE ${family} ${kind}`]
  return isOpen && unit !== undefined ? [...lines, `# UNIT ${family} ${unit}`] : lines
}

function writeValue(lines: string[], { name, labels }: MetricSpec, series: Series): void {
  lines.push(`${name}${inBraces(pairsOf(labels, series.labels))} ${series.numbers[0] ?? 0}`)
}

function writeHistogram(lines: string[], spec: MetricSpec, series: Series, isOpen: boolean): void {
  const { name, labels, buckets = [] } = spec
  const { numbers } = series
  const pairs = pairsOf(labels, series.labels)
  const before = pairs === '' ? '' : `${pairs},`
  let count = 0
  for (const [at, bound] of buckets.entries()) {
    count += numbers[at] ?? 0
    lines.push(`${name}_bucket{${before}le="${boundText(bound, isOpen)}"} ${count}`)
  }
  count += numbers[buckets.length] ?? 0
  lines.push(`${name}_bucket{${before}le="+Inf"} ${count}`)
  lines.push(`${name}_sum${inBraces(pairs)} ${numbers[buckets.length + 1] ?? 0}`)
  lines.push(`${name}_count${inBraces(pairs)} ${count}`)
}

/** OpenMetrics writes bounds as floating-point numbers. */
function boundText(bound: number, isOpen: boolean): string {
  return isOpen && Number.isInteger(bound) ? `${bound}.0` : String(bound)
}

function pairsOf(names: readonly string[], values: readonly string[]): string {
  let pairs = ''
  for (const [at, name] of names.entries()) {
    const value = values[at] ?? ''
    if (value !== '') pairs += `${pairs === '' ? '' : ','}${name}="${escaped(value, true)}"`
  }
  return pairs
}

function inBraces(pairs: string): string {
  return pairs === '' ? '' : `{${pairs}}`
}

/** Plain text has no escape for a quotation mark outside labels. */
function escaped(text: string, quotes: boolean): string {
  const safe = text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')
  return quotes ? safe.replaceAll('"', '\\"') : safe
}
