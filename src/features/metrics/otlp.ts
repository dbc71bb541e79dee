import type { Steps } from '../../core/steps.js'
import { ProtobufWriter } from '../../wire/protobuf.js'
import { type Attributes, writeAttributes } from '../otlp/attributes.js'
import { attributeName, otlpName, otlpUnit } from './otlp-names.js'
import type { Series } from './series.js'
import type { MetricSpec } from './spec.js'
import type { Shown } from './text.js'

/** When counting began, and the moment of these figures: milliseconds since the epoch. */
interface Span {
  readonly since: number
  readonly now: number
}

/** Field of `Metric` that holds the points. Source: opentelemetry/proto/metrics/v1/metrics.proto, as all numbers here. */
const FIELDS = { gauge: 5, counter: 7, histogram: 9 } as const
/** `AGGREGATION_TEMPORALITY_CUMULATIVE` */
const CUMULATIVE = 2
/** Points of one message, and of one step. */
const MAX_POINTS = 50
/** A request to the collector holds little more. */
const MAX_REQUEST_BYTES = 512 * 1024
/** What conventions have as whole numbers. */
const WHOLE: ReadonlySet<string> = new Set(['http_response_status_code', 'server_port'])

/** The metrics as fields of `ScopeMetrics`, so many for each request that none is too large. Metrics without series are left out. */
export function* requestsOf(shown: Iterable<Shown>, span: Span): Steps<readonly Uint8Array[]> {
  const writer = new ProtobufWriter()
  const requests: Uint8Array[] = []
  for (const { spec, series } of shown) {
    const all = [...series]
    for (let at = 0; at < all.length; at += MAX_POINTS) {
      writeMetric(writer, spec, all.slice(at, at + MAX_POINTS), span)
      if (writer.length >= MAX_REQUEST_BYTES) requests.push(writer.take())
      yield
    }
  }
  if (writer.length > 0) requests.push(writer.take())
  return requests
}

function writeMetric(writer: ProtobufWriter, spec: MetricSpec, series: readonly Series[], span: Span): void {
  const { kind, help } = spec
  const unit = otlpUnit(spec)
  const write = kind === 'histogram' ? writeHistogramPoint : writeNumberPoint
  writer.message(2, () => {
    writer.string(1, otlpName(spec))
    writer.string(2, help)
    if (unit !== undefined) writer.string(3, unit)
    writer.message(FIELDS[kind], () => {
      for (const one of series) writer.message(1, () => write(writer, spec, one, span))
      if (kind !== 'gauge') writer.integer(2, CUMULATIVE)
      if (kind === 'counter') writer.integer(3, 1)
    })
  })
}

function writeNumberPoint(writer: ProtobufWriter, { kind, labels }: MetricSpec, series: Series, span: Span): void {
  // What is there at one moment has no beginning.
  if (kind !== 'gauge') writer.time(2, span.since)
  writer.time(3, span.now)
  writer.double(4, series.numbers[0] ?? 0)
  writeAttributes(writer, 7, attributesOf(labels, series.labels))
}

function writeHistogramPoint(
  writer: ProtobufWriter,
  { labels, buckets = [] }: MetricSpec,
  { labels: values, numbers }: Series,
  { since, now }: Span,
): void {
  const counts = [...numbers.subarray(0, buckets.length + 1)]
  writer.time(2, since)
  writer.time(3, now)
  writer.fixed64(
    4,
    counts.reduce((sum, count) => sum + count, 0),
  )
  writer.double(5, numbers[buckets.length + 1] ?? 0)
  writer.fixed64s(6, counts)
  writer.doubles(7, buckets)
  writeAttributes(writer, 9, attributesOf(labels, values))
}

/** As in the text, a label without a value is left out. */
function attributesOf(names: readonly string[], values: readonly string[]): Attributes {
  const attributes: Record<string, string | number> = {}
  for (const [at, name] of names.entries()) {
    const value = values[at] ?? ''
    if (value !== '')
      attributes[attributeName(name)] = WHOLE.has(name) && Number.isSafeInteger(Number(value)) ? Number(value) : value
  }
  return attributes
}
