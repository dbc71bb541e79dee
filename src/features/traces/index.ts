import type { Plan } from '../../core/plan.js'
import type { TelemetryConfig } from '../../core/telemetry.js'
import type { Kernel } from '../../kernel/kernel.js'
import { unwatched } from '../../kernel/outside-call.js'
import type { Feature, Service } from '../../kernel/stages.js'
import { EXPORT_FLUSH_MS, type ExportEvents, ExportQueue, UNHEARD } from '../otlp/queue.js'
import { openClient, placeOf, resourceOf, SendingReport } from '../otlp/sender.js'
import { ContentTracesStage } from './content.js'
import { watch } from './outside.js'
import { Sampler } from './sampling.js'
import { RouteSpans } from './spans.js'
import { TracesStage } from './stage.js'
import { TraceWriter } from './trace-writer.js'

/** The process's way to the collector. */
class TracesService implements Service {
  readonly writer = new TraceWriter()
  events: ExportEvents = UNHEARD
  readonly #kernel: Kernel
  readonly #report: SendingReport
  /** Undefined: no spans are sent. */
  #place: string | undefined
  #sampler: Sampler | undefined
  #queue: ExportQueue | undefined
  /** Former ones, until they have sent what they have. */
  readonly #closing = new Set<Promise<void>>()

  constructor(kernel: Kernel) {
    this.#kernel = kernel
    this.#report = new SendingReport(kernel, 'spans')
    this.adopt(kernel.generation.plan)
    kernel.watchCall = call => (this.#sampler === undefined ? unwatched(call) : watch(call, this.#sampler, this.writer))
  }

  adopt({ telemetry }: Plan): void {
    const place = telemetry?.traces && placeOf(this.#kernel, telemetry)
    const isSame = place === this.#place
    this.#place = place
    this.#sampler = telemetry?.traces && new Sampler(telemetry.traces)
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
    const closing = this.#queue?.close(EXPORT_FLUSH_MS).finally(() => this.#closing.delete(closing as Promise<void>))
    if (closing !== undefined) this.#closing.add(closing)
    this.#queue = undefined
    this.writer.sink = undefined
  }

  #open(telemetry: TelemetryConfig): ExportQueue {
    const queue = new ExportQueue(
      openClient(this.#kernel, telemetry),
      '/v1/traces',
      resourceOf(this.#kernel, telemetry),
    )
    queue.onSent = (posted, spans) => {
      this.writer.clock.adjust()
      this.events.sent(posted.outcome, spans)
      this.#report.ended(posted, telemetry.otlp.endpoint)
    }
    queue.onDropped = (reason, spans) => this.events.dropped(reason, spans)
    return queue
  }
}

/** Sends traces of requests to a collector. Plans without `telemetry`, or with `traces: off`, have no stage of it. */
export const traces: Feature<TracesService> = {
  name: 'traces',
  open: kernel => new TracesService(kernel),
  compile({ plan, route }, { writer }) {
    const { traces } = plan.telemetry ?? {}
    if (traces === undefined) return undefined
    const Made = traces.hasContent ? ContentTracesStage : TracesStage
    return new Made(writer, new Sampler(traces), new RouteSpans(route), route?.tunnel === undefined)
  },
}
