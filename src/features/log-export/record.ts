import type { LogRecord } from '../../core/log-record.js'
import { otelParts, SEVERITY_NUMBERS } from '../../sinks/otel-format.js'
import type { ProtobufWriter } from '../../wire/protobuf.js'
import { writeAttributes } from '../otlp/attributes.js'

/** Writes a line as the field of `ScopeLogs` (opentelemetry/proto/logs/v1/logs.proto). */
export function writeRecord(writer: ProtobufWriter, record: LogRecord): void {
  const { severity, at, message } = record
  const { trace, attributes } = otelParts(record)
  writer.message(2, () => {
    writer.time(1, at)
    writer.integer(2, SEVERITY_NUMBERS[severity])
    writer.string(3, severity.toUpperCase())
    writer.message(5, () => writer.string(1, message))
    writeAttributes(writer, 6, attributes)
    if (trace !== undefined) writer.hex(9, trace)
    writer.time(11, at)
  })
}
