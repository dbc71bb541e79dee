import type { LogRecord } from '../../core/log-record.js'
import type { Plan } from '../../core/plan.js'
import type { TelemetryConfig } from '../../core/telemetry.js'
import type { Kernel } from '../../kernel/kernel.js'
import type { Feature, Service } from '../../kernel/stages.js'
import { ProtobufWriter } from '../../wire/protobuf.js'
import { EXPORT_FLUSH_MS, type ExportEvents, ExportQueue, UNHEARD } from '../otlp/queue.js'
import { openClient, placeOf, resourceOf, SendingReport } from '../otlp/sender.js'
import { writeRecord } from './record.js'

/** Sends the lines of the process's log to the collector, beside the place that the log has anyway. */
class LogExport implements Service {
  events: ExportEvents = UNHEARD
  readonly #kernel: Kernel
  readonly #report: SendingReport
  readonly #writer = new ProtobufWriter()
  #place: string | undefined
  #queue: ExportQueue | undefined
  /** Former ones, until they have sent what they have. */
  readonly #closing = new Set<Promise<void>>()

  constructor(kernel: Kernel) {
    this.#kernel = kernel
    this.#report = new SendingReport(kernel, 'lines of the log')
    this.adopt(kernel.generation.plan)
  }

  adopt({ telemetry }: Plan): void {
    const place = telemetry?.logs === true ? placeOf(this.#kernel, telemetry) : undefined
    if (place === this.#place) return
    this.#place = place
    this.#retire()
    if (telemetry === undefined || place === undefined) return
    const queue = this.#open(telemetry)
    this.#queue = queue
    this.#kernel.sink.onRecord = record => this.#add(queue, record)
  }

  async close(): Promise<void> {
    this.#retire()
    await Promise.all(this.#closing)
  }

  #add(queue: ExportQueue, record: LogRecord): void {
    writeRecord(this.#writer, record)
    queue.add(this.#writer.take(), 1)
  }

  #retire(): void {
    this.#kernel.sink.onRecord = undefined
    const closing = this.#queue?.close(EXPORT_FLUSH_MS).finally(() => this.#closing.delete(closing as Promise<void>))
    if (closing !== undefined) this.#closing.add(closing)
    this.#queue = undefined
  }

  #open(telemetry: TelemetryConfig): ExportQueue {
    const queue = new ExportQueue(openClient(this.#kernel, telemetry), '/v1/logs', resourceOf(this.#kernel, telemetry))
    queue.onSent = (posted, lines) => {
      this.events.sent(posted.outcome, lines)
      this.#report.ended(posted, telemetry.otlp.endpoint)
    }
    queue.onDropped = (reason, lines) => this.events.dropped(reason, lines)
    return queue
  }
}

/** Sends the log to a collector, too. It has no stage: the log is written where it always is. */
export const logExport: Feature<LogExport> = {
  name: 'log-export',
  open: kernel => new LogExport(kernel),
  compile: () => undefined,
}
