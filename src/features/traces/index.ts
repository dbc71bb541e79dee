import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import type { Plan } from '../../core/plan.js'
import type { TelemetryConfig } from '../../core/telemetry.js'
import type { Kernel } from '../../kernel/kernel.js'
import type { Feature, Service } from '../../kernel/stages.js'
import { Egress } from '../../net/egress.js'
import { OtlpClient } from '../../net/otlp-client.js'
import { ProtobufWriter } from '../../wire/protobuf.js'
import { type DropReason, SpanQueue } from './queue.js'
import { Sampler } from './sampling.js'
import { writeAttributes } from './span.js'
import { RouteSpans } from './spans.js'
import { TracesStage } from './stage.js'
import { TraceWriter } from './trace-writer.js'

/** How long the end of the process waits for the collector, milliseconds. */
const FLUSH_MS = 3000

/** What happened to spans, for metrics. */
interface SpanEvents {
  sent(outcome: string, spans: number): void
  dropped(reason: DropReason, spans: number): void
}

/** The process's way to the collector. */
class TracesService implements Service {
  readonly writer = new TraceWriter()
  events: SpanEvents = { sent: () => undefined, dropped: () => undefined }
  readonly #kernel: Kernel
  readonly #instance = randomUUID()
  #telemetry: TelemetryConfig | undefined
  #queue: SpanQueue | undefined
  /** Former ones, until they have sent what they have. */
  readonly #closing = new Set<Promise<void>>()
  #fails = false

  constructor(kernel: Kernel) {
    this.#kernel = kernel
    this.adopt(kernel.generation.plan)
  }

  adopt({ telemetry }: Plan): void {
    const isSame = JSON.stringify(places(telemetry)) === JSON.stringify(places(this.#telemetry))
    this.#telemetry = telemetry
    this.writer.clock.adjust()
    if (isSame) return
    this.#retire()
    if (telemetry?.traces !== undefined) this.#queue = this.#open(telemetry)
    this.writer.sink = this.#queue
  }

  async close(): Promise<void> {
    this.#retire()
    await Promise.all(this.#closing)
  }

  #retire(): void {
    const closing = this.#queue?.close(FLUSH_MS).finally(() => this.#closing.delete(closing as Promise<void>))
    if (closing !== undefined) this.#closing.add(closing)
    this.#queue = undefined
    this.writer.sink = undefined
  }

  #open({ otlp, service }: TelemetryConfig): SpanQueue {
    const egress = this.#kernel.generation.egressOf('') ?? new Egress({ pool: {} })
    const queue = new SpanQueue(new OtlpClient(otlp, egress), this.#resource(service), scope())
    queue.onSent = ({ outcome, why }, spans) => {
      this.writer.clock.adjust()
      this.events.sent(outcome, spans)
      this.#report(outcome === 'ok', otlp.endpoint, why)
    }
    queue.onDropped = (reason, spans) => this.events.dropped(reason, spans)
    return queue
  }

  /** Each change is reported once. */
  #report(isGood: boolean, endpoint: string, why: string | undefined): void {
    if (isGood !== this.#fails) return
    this.#fails = !isGood
    const message = isGood
      ? 'spans are sent again'
      : 'spans cannot be sent: check telemetry.otlp and the collector; requests are served as ever'
    this.#kernel.onNotice({ endpoint, ...(why === undefined ? {} : { cause: why }) }, message)
  }

  /** `Resource` of opentelemetry-proto, as a field. */
  #resource(service: string): Uint8Array {
    const { number } = this.#kernel.peers
    const writer = new ProtobufWriter()
    const attributes = {
      'service.name': service,
      'service.instance.id': this.#instance,
      'host.name': hostname(),
      'process.pid': process.pid,
      'gateway.worker': number === 0 ? undefined : number,
    }
    writer.message(1, () => writeAttributes(writer, 1, attributes))
    return writer.take()
  }
}

function scope(): Uint8Array {
  const writer = new ProtobufWriter()
  writer.message(1, () => writer.string(1, 'model-gateway'))
  return writer.take()
}

/** What decides where spans go, secrets included. */
function places(telemetry: TelemetryConfig | undefined): unknown {
  if (telemetry?.traces === undefined) return null
  const { otlp, service } = telemetry
  return [service, otlp, Object.values(otlp.headers).map(secret => secret.reveal())]
}

/** Sends traces of requests to a collector. Plans without `telemetry`, or with `traces: off`, have no stage of it. */
export const traces: Feature<TracesService> = {
  name: 'traces',
  open: kernel => new TracesService(kernel),
  compile({ plan, route }, { writer }) {
    const { traces } = plan.telemetry ?? {}
    if (traces === undefined) return undefined
    return new TracesStage(writer, new Sampler(traces), new RouteSpans(route), route?.tunnel === undefined)
  },
}
