import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import type { TelemetryConfig } from '../../core/telemetry.js'
import type { Kernel } from '../../kernel/kernel.js'
import { Egress } from '../../net/egress.js'
import { OtlpClient, type Posted } from '../../net/otlp-client.js'
import { fieldsOf, framed, ProtobufWriter } from '../../wire/protobuf.js'
import { writeAttributes } from './attributes.js'

/** `service.instance.id` of what this process sends of itself. */
const INSTANCE = randomUUID()

/** A connection to the collector of a plan. */
export function openClient(kernel: Kernel, { otlp }: TelemetryConfig): OtlpClient {
  return new OtlpClient(otlp, kernel.generation.egressOf('') ?? new Egress({ pool: {} }), rejectedOf)
}

/**
 * `partial_success` of an `Export…ServiceResponse`: `rejected_spans`, `rejected_data_points` or `rejected_log_records`.
 * @testonly
 */
export function rejectedOf(body: Uint8Array): number {
  for (const [field, partial] of fieldsOf(body)) {
    if (field !== 1 || typeof partial === 'number') continue
    for (const [inner, rejected] of fieldsOf(partial))
      if (inner === 1 && typeof rejected === 'number' && Number.isSafeInteger(rejected)) return rejected
  }
  return 0
}

/**
 * `Resource` of opentelemetry-proto, as a field of what contains it: the service, the process and the machine. `gateway`: the
 * `service.instance.id` of what is of all workers, whichever of them sends it.
 */
export function resourceOf({ peers: { number } }: Kernel, { service }: TelemetryConfig, gateway?: string): Uint8Array {
  const writer = new ProtobufWriter()
  const ofProcess = { 'process.pid': process.pid, 'gateway.worker': number === 0 ? undefined : number }
  const attributes = {
    'service.name': service,
    'service.instance.id': gateway ?? INSTANCE,
    'host.name': hostname(),
    ...(gateway === undefined && ofProcess),
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
export function placeOf({ generation }: Kernel, { otlp, service }: TelemetryConfig): string {
  const secrets = Object.values(otlp.headers).map(secret => secret.reveal())
  return JSON.stringify([service, otlp, secrets, generation.egressOf('')?.digest])
}

/** Logs when sending begins to fail, when it succeeds again, and the first time that a part is refused. */
export class SendingReport {
  readonly #kernel: Kernel
  /** What is sent: `spans`. */
  readonly #what: string
  #fails = false
  #isPartial = false

  constructor(kernel: Kernel, what: string) {
    this.#kernel = kernel
    this.#what = what
  }

  ended({ outcome, why, rejected }: Posted, endpoint: string): void {
    const isGood = outcome === 'ok'
    if (rejected !== undefined && !this.#isPartial) {
      this.#isPartial = true
      this.#kernel.onNotice({ endpoint, rejected }, `some ${this.#what} are refused by the collector: see its log`)
    }
    if (isGood !== this.#fails) return
    this.#fails = !isGood
    const message = isGood
      ? `${this.#what} are sent again`
      : `${this.#what} cannot be sent: check telemetry.otlp and the collector; requests are served as ever`
    const fields = { endpoint, ...(why === undefined ? {} : { cause: why }) }
    this.#kernel.onNotice(fields, message, isGood ? 'info' : 'warn')
  }
}
