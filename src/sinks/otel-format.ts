import type { LogRecord, Severity } from '../core/log-record.js'
import { type Format, renamed } from './format.js'

/** Names of the OpenTelemetry semantic conventions; others are below `gateway`. */
const NAMES: Readonly<Record<string, string>> = {
  method: 'http.request.method',
  route: 'http.route',
  path: 'url.path',
  client: 'client.address',
  status: 'http.response.status_code',
  model: 'gen_ai.request.model',
  input_tokens: 'gen_ai.usage.input_tokens',
  output_tokens: 'gen_ai.usage.output_tokens',
  bytes_in: 'http.request.body.size',
  bytes_out: 'http.response.body.size',
  error: 'error.type',
  pid: 'process.pid',
}

/** SeverityNumber of the log data model. */
export const SEVERITY_NUMBERS: Readonly<Record<Severity, number>> = { trace: 1, debug: 5, info: 9, warn: 13, error: 17 }

const TRACE_ID = /^[0-9a-f]{32}$/

/** What OTLP has a place for, and the rest by the names of the semantic conventions. */
export function otelParts({ fields }: LogRecord): {
  readonly trace: string | undefined
  readonly attributes: Readonly<Record<string, unknown>>
} {
  const { trace, ...others } = fields
  const isTrace = typeof trace === 'string' && TRACE_ID.test(trace)
  return { trace: isTrace ? trace : undefined, attributes: renamed(others, NAMES) }
}

/** An AnyValue of OTLP in JSON. */
type AnyValue =
  | { readonly stringValue: string }
  | { readonly boolValue: boolean }
  | { readonly intValue: string }
  | { readonly doubleValue: number }
  | { readonly arrayValue: { readonly values: readonly AnyValue[] } }
  | { readonly kvlistValue: { readonly values: readonly KeyValue[] } }

interface KeyValue {
  readonly key: string
  readonly value: AnyValue
}

/** One LogRecord of OTLP in JSON: 64-bit numbers are decimal strings, ids hexadecimal. */
function otelRecord(record: LogRecord): object {
  const { severity, at, message } = record
  const { trace, attributes } = otelParts(record)
  return {
    timeUnixNano: `${at}000000`,
    observedTimeUnixNano: `${at}000000`,
    severityNumber: SEVERITY_NUMBERS[severity],
    severityText: severity.toUpperCase(),
    body: { stringValue: message },
    attributes: keyValues(attributes),
    ...(trace === undefined ? {} : { traceId: trace }),
  }
}

/** A line of a file of the OTLP file exporter: a LogsData with one record, as a collector's `otlpjsonfile` receiver reads it. */
export const otelFormat: Format = record => {
  const { worker } = record
  const own = {
    'service.name': 'gateway',
    ...(worker === undefined ? {} : { 'service.instance.id': `worker-${worker}` }),
  }
  const scopeLogs = [{ scope: { name: 'gateway' }, logRecords: [otelRecord(record)] }]
  return `${JSON.stringify({ resourceLogs: [{ resource: { attributes: keyValues(own) }, scopeLogs }] })}\n`
}

function keyValues(values: Readonly<Record<string, unknown>>): readonly KeyValue[] {
  return Object.entries(values).flatMap(([key, value]) =>
    value === undefined ? [] : [{ key, value: anyValue(value) }],
  )
}

function anyValue(value: unknown): AnyValue {
  if (typeof value === 'string') return { stringValue: value }
  if (typeof value === 'boolean') return { boolValue: value }
  if (typeof value === 'number')
    return Number.isSafeInteger(value) ? { intValue: String(value) } : { doubleValue: value }
  if (Array.isArray(value)) return { arrayValue: { values: value.map(anyValue) } }
  if (typeof value === 'object' && value !== null) return { kvlistValue: { values: keyValues({ ...value }) } }
  return { stringValue: String(value) }
}
