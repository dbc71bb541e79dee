import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import type { TelemetryConfig } from '../../core/telemetry.js'
import type { Kernel } from '../../kernel/kernel.js'
import { Egress } from '../../net/egress.js'
import { OtlpClient } from '../../net/otlp-client.js'
import { framed, ProtobufWriter } from '../../wire/protobuf.js'
import { writeAttributes } from './attributes.js'

/** `service.instance.id` of all that this process sends. */
const INSTANCE = randomUUID()

/** A connection to the collector of a plan. */
export function openClient(kernel: Kernel, { otlp }: TelemetryConfig): OtlpClient {
  return new OtlpClient(otlp, kernel.generation.egressOf('') ?? new Egress({ pool: {} }))
}

/** `Resource` of opentelemetry-proto, as a field of what contains it: the service, the process and the machine. */
export function resourceOf({ peers: { number } }: Kernel, { service }: TelemetryConfig): Uint8Array {
  const writer = new ProtobufWriter()
  const attributes = {
    'service.name': service,
    'service.instance.id': INSTANCE,
    'host.name': hostname(),
    'process.pid': process.pid,
    'gateway.worker': number === 0 ? undefined : number,
  }
  writer.message(1, () => writeAttributes(writer, 1, attributes))
  return writer.take()
}

/** `ExportTraceServiceRequest` or `ExportMetricsServiceRequest`: fields of `ScopeSpans` or `ScopeMetrics`, with what they are of. */
export function exportRequest(resource: Uint8Array, fields: readonly Uint8Array[]): readonly Uint8Array[] {
  return framed(1, [resource, ...framed(2, [SCOPE, ...fields])])
}

/** `InstrumentationScope`, as a field. */
const SCOPE = scope()

function scope(): Uint8Array {
  const writer = new ProtobufWriter()
  writer.message(1, () => writer.string(1, 'model-gateway'))
  return writer.take()
}

/** What decides where something is sent and as what, secrets included. */
export function placeOf({ otlp, service }: TelemetryConfig): string {
  return JSON.stringify([service, otlp, Object.values(otlp.headers).map(secret => secret.reveal())])
}

/** Logs when sending begins to fail, and when it succeeds again. */
export class SendingReport {
  readonly #kernel: Kernel
  /** What is sent: `spans`. */
  readonly #what: string
  #fails = false

  constructor(kernel: Kernel, what: string) {
    this.#kernel = kernel
    this.#what = what
  }

  ended(isGood: boolean, endpoint: string, why: string | undefined): void {
    if (isGood !== this.#fails) return
    this.#fails = !isGood
    const message = isGood
      ? `${this.#what} are sent again`
      : `${this.#what} cannot be sent: check telemetry.otlp and the collector; requests are served as ever`
    this.#kernel.onNotice({ endpoint, ...(why === undefined ? {} : { cause: why }) }, message)
  }
}
