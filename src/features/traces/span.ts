import type { ProtobufWriter } from '../../wire/protobuf.js'
import { type Attributes, writeAttributes } from '../otlp/attributes.js'

/** `SpanKind` of opentelemetry-proto. */
const KINDS = { internal: 1, server: 2, client: 3 } as const

/** Something that happened at one moment. Time in milliseconds since the epoch. */
export interface SpanEvent {
  readonly name: string
  readonly time: number
  readonly attributes?: Attributes
}

/** One span, before it is written. Ids in hex; times in milliseconds since the epoch. */
export interface Span {
  readonly trace: string
  readonly id: string
  readonly parent: string | undefined
  /** Whether the parent is in another process. */
  readonly isRemote?: boolean
  readonly name: string
  readonly kind: keyof typeof KINDS
  readonly started: number
  readonly ended: number
  readonly attributes: Attributes
  readonly events?: readonly SpanEvent[]
  readonly isError: boolean
}

/** `Status.code` of a failure. */
const ERROR = 2
/** `SpanFlags`: sampled, and whether it is known where the parent is, and that it is elsewhere. */
const SAMPLED = 0x1
const KNOWS_PARENT = 0x100
const IS_REMOTE = 0x200

/** Writes the span as the field of `ScopeSpans` (opentelemetry/proto/trace/v1/trace.proto). */
export function writeSpan(writer: ProtobufWriter, span: Span): void {
  writer.message(2, () => {
    writer.hex(1, span.trace)
    writer.hex(2, span.id)
    if (span.parent !== undefined) writer.hex(4, span.parent)
    writer.string(5, span.name)
    writer.integer(6, KINDS[span.kind])
    writer.time(7, span.started)
    writer.time(8, Math.max(span.started, span.ended))
    writeAttributes(writer, 9, span.attributes)
    for (const event of span.events ?? []) writeEvent(writer, event)
    if (span.isError) writer.message(15, () => writer.integer(3, ERROR))
    writer.fixed32(16, SAMPLED + KNOWS_PARENT + (span.isRemote === true ? IS_REMOTE : 0))
  })
}

function writeEvent(writer: ProtobufWriter, { name, time, attributes = {} }: SpanEvent): void {
  writer.message(11, () => {
    writer.time(1, time)
    writer.string(2, name)
    writeAttributes(writer, 3, attributes, Number.POSITIVE_INFINITY)
  })
}
