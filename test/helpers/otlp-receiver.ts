import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import type t from 'tap'
import { Journal } from './journal.js'

type Test = Pick<typeof t, 'teardown'>

interface Value {
  readonly stringValue?: string
  readonly boolValue?: boolean
  readonly intValue?: string
  readonly doubleValue?: number
  readonly arrayValue?: { readonly values?: readonly Value[] }
  readonly kvlistValue?: { readonly values?: readonly KeyValue[] }
}

interface KeyValue {
  readonly key: string
  readonly value: Value
}

type Plain = string | number | boolean | readonly Plain[] | { readonly [name: string]: Plain }

/** A span as tests compare it: what the official decoder read, with attributes as a mapping. */
export interface ReceivedSpan {
  readonly trace: string
  readonly id: string
  readonly parent: string | undefined
  readonly name: string
  readonly kind: string
  /** Milliseconds since the epoch. */
  readonly started: number
  readonly ended: number
  readonly attributes: Readonly<Record<string, Plain>>
  readonly events: readonly { readonly name: string; readonly attributes: Readonly<Record<string, Plain>> }[]
  readonly isError: boolean
  /** Of the process that sent it. */
  readonly resource: Readonly<Record<string, Plain>>
}

/** A line of the log. */
export interface ReceivedLine {
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly severity: string
  readonly message: string
  readonly trace: string | undefined
  readonly attributes: Readonly<Record<string, Plain>>
  readonly resource: Readonly<Record<string, Plain>>
}

export interface ReceivedPoint {
  readonly attributes: Readonly<Record<string, Plain>>
  readonly started: number
  readonly value: number | undefined
  readonly count: number | undefined
  readonly sum: number | undefined
  readonly buckets: readonly number[]
  readonly bounds: readonly number[]
}

export interface ReceivedMetric {
  readonly name: string
  readonly unit: string
  readonly kind: 'gauge' | 'sum' | 'histogram'
  readonly isCumulative: boolean
  readonly isMonotonic: boolean
  readonly points: readonly ReceivedPoint[]
}

/** What a collector answers. */
export interface CollectorAnswer {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Buffer
  /** The connection is cut instead. */
  readonly cut?: boolean
  /** It never answers. */
  readonly hangs?: boolean
}

interface Message {
  decode(bytes: Uint8Array): object
  toObject(message: object, options: object): never
}

interface Root {
  readonly opentelemetry: {
    readonly proto: {
      readonly collector: {
        readonly trace: { readonly v1: { readonly ExportTraceServiceRequest: Message } }
        readonly logs: { readonly v1: { readonly ExportLogsServiceRequest: Message } }
        readonly metrics: { readonly v1: { readonly ExportMetricsServiceRequest: Message } }
      }
    }
  }
}

/** Made from the official .proto files; not a type of the build, because the package has none for it. */
const root = createRequire(import.meta.url)('@opentelemetry/otlp-transformer/build/src/generated/root') as Root
const { collector } = root.opentelemetry.proto
const NS_PER_MS = 1e6
const READ = { longs: String, bytes: Buffer, enums: String }

/** A collector that decodes with the official protobuf. */
export class OtlpReceiver {
  readonly spans = new Journal<ReceivedSpan>('spans')
  readonly lines = new Journal<ReceivedLine>('lines of the log')
  readonly metrics = new Journal<readonly ReceivedMetric[]>('metrics')
  /** All requests, by path and headers, those that were not answered with 200 too. */
  readonly requests = new Journal<{
    readonly path: string
    readonly headers: IncomingHttpHeaders
    readonly body: Buffer
  }>('requests to the collector')
  origin = ''
  /** The answer to the next requests; what is not answered well is not among the spans. */
  answer: CollectorAnswer = { status: 200 }

  receive(path: string, body: Buffer): void {
    if (path === '/v1/traces') for (const span of spansOf(body)) this.spans.push(span)
    if (path === '/v1/logs') for (const line of linesOf(body)) this.lines.push(line)
    if (path === '/v1/metrics') this.metrics.push(metricsOf(body))
  }

  named(name: string): readonly ReceivedSpan[] {
    return this.spans.items.filter(span => span.name === name)
  }
}

export async function startOtlpReceiver(test: Test, port = 0): Promise<OtlpReceiver> {
  const receiver = new OtlpReceiver()
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const body = Buffer.concat(chunks)
      const { status, headers = {}, body: answer, cut = false, hangs = false } = receiver.answer
      if (cut) request.socket.destroy()
      else if (!hangs) {
        if (status === 200) receiver.receive(request.url ?? '', body)
        response.writeHead(status, { 'content-type': 'application/x-protobuf', ...headers }).end(answer)
      }
      receiver.requests.push({ path: request.url ?? '', headers: request.headers, body })
    })
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  receiver.origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  test.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  return receiver
}

interface DecodedSpan {
  readonly traceId: Buffer
  readonly spanId: Buffer
  readonly parentSpanId?: Buffer
  readonly name: string
  readonly kind: string
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly attributes?: readonly KeyValue[]
  readonly events?: readonly { readonly name: string; readonly attributes?: readonly KeyValue[] }[]
  readonly status?: { readonly code?: string }
}

interface DecodedTraces {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly KeyValue[] }
    readonly scopeSpans: readonly { readonly spans: readonly DecodedSpan[] }[]
  }[]
}

function spansOf(body: Buffer): readonly ReceivedSpan[] {
  const type = collector.trace.v1.ExportTraceServiceRequest
  const { resourceSpans } = type.toObject(type.decode(body), READ) as DecodedTraces
  return resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) => spans.map(span => spanOf(span, plainOf(resource.attributes)))),
  )
}

function spanOf(span: DecodedSpan, resource: ReceivedSpan['resource']): ReceivedSpan {
  const { attributes = [], events = [], status } = span
  return {
    trace: span.traceId.toString('hex'),
    id: span.spanId.toString('hex'),
    parent: span.parentSpanId?.toString('hex'),
    name: span.name,
    kind: span.kind,
    started: Number(span.startTimeUnixNano) / NS_PER_MS,
    ended: Number(span.endTimeUnixNano) / NS_PER_MS,
    attributes: plainOf(attributes),
    events: events.map(event => ({ name: event.name, attributes: plainOf(event.attributes ?? []) })),
    isError: status?.code === 'STATUS_CODE_ERROR',
    resource,
  }
}

interface DecodedLogs {
  readonly resourceLogs: readonly {
    readonly resource: { readonly attributes: readonly KeyValue[] }
    readonly scopeLogs: readonly {
      readonly logRecords: readonly {
        readonly timeUnixNano: string
        readonly severityNumber: string
        readonly body: Value
        readonly traceId?: Buffer
        readonly attributes?: readonly KeyValue[]
      }[]
    }[]
  }[]
}

function linesOf(body: Buffer): readonly ReceivedLine[] {
  const type = collector.logs.v1.ExportLogsServiceRequest
  const { resourceLogs } = type.toObject(type.decode(body), READ) as DecodedLogs
  return resourceLogs.flatMap(({ resource, scopeLogs }) =>
    scopeLogs.flatMap(({ logRecords }) =>
      logRecords.map(({ timeUnixNano, severityNumber, body: message, traceId, attributes = [] }) => ({
        at: Number(timeUnixNano) / NS_PER_MS,
        severity: severityNumber,
        message: String(plainValue(message)),
        trace: traceId?.toString('hex'),
        attributes: plainOf(attributes),
        resource: plainOf(resource.attributes),
      })),
    ),
  )
}

interface DecodedPoint {
  readonly attributes?: readonly KeyValue[]
  readonly startTimeUnixNano?: string
  readonly asDouble?: number
  readonly count?: string
  readonly sum?: number
  readonly bucketCounts?: readonly string[]
  readonly explicitBounds?: readonly number[]
}

type DecodedMetric = { readonly name: string; readonly unit?: string } & {
  readonly [Kind in ReceivedMetric['kind']]?: {
    readonly dataPoints?: readonly DecodedPoint[]
    readonly aggregationTemporality?: string
    readonly isMonotonic?: boolean
  }
}

interface DecodedMetrics {
  readonly resourceMetrics: readonly {
    readonly scopeMetrics: readonly { readonly metrics?: readonly DecodedMetric[] }[]
  }[]
}

function metricsOf(body: Buffer): readonly ReceivedMetric[] {
  const type = collector.metrics.v1.ExportMetricsServiceRequest
  const { resourceMetrics } = type.toObject(type.decode(body), READ) as DecodedMetrics
  return resourceMetrics.flatMap(({ scopeMetrics }) =>
    scopeMetrics.flatMap(({ metrics = [] }) =>
      metrics.map(metric => {
        const kind = metric.sum !== undefined ? 'sum' : metric.gauge !== undefined ? 'gauge' : 'histogram'
        const { dataPoints = [], aggregationTemporality, isMonotonic = false } = metric[kind] ?? {}
        const isCumulative = aggregationTemporality === 'AGGREGATION_TEMPORALITY_CUMULATIVE'
        const points = dataPoints.map(point => ({
          attributes: plainOf(point.attributes ?? []),
          started: Number(point.startTimeUnixNano ?? 0) / NS_PER_MS,
          value: point.asDouble,
          count: point.count === undefined ? undefined : Number(point.count),
          sum: point.sum,
          buckets: (point.bucketCounts ?? []).map(Number),
          bounds: point.explicitBounds ?? [],
        }))
        return { name: metric.name, unit: metric.unit ?? '', kind, isCumulative, isMonotonic, points }
      }),
    ),
  )
}

function plainOf(attributes: readonly KeyValue[]): Readonly<Record<string, Plain>> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, plainValue(value)]))
}

function plainValue({ stringValue, boolValue, intValue, doubleValue, arrayValue, kvlistValue }: Value): Plain {
  if (kvlistValue !== undefined) return plainOf(kvlistValue.values ?? [])
  if (arrayValue !== undefined) return (arrayValue.values ?? []).map(plainValue)
  return stringValue ?? boolValue ?? doubleValue ?? Number(intValue)
}
