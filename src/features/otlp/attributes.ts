import type { ProtobufWriter } from '../../wire/protobuf.js'

type AttributeValue = string | number | boolean | readonly string[]

/** Most levels of lists and mappings in a value; what is deeper is left out. */
const MAX_DEPTH = 8

/** What is known of a span, an event, a point or a process; what is undefined is left out. */
export type Attributes = Readonly<Record<string, AttributeValue | undefined>>

/** The same of lines of the log, whose values are JSON. */
type Nested = Readonly<Record<string, unknown>>

/** What may be a fraction always has that type. */
const FRACTIONS: ReadonlySet<string> = new Set(['gateway.cost_usd'])

/** Longest value of an attribute, characters. */
const MAX_VALUE_CHARS = 1024

/** `KeyValue` in a field; long values are cut. */
export function writeAttributes(
  writer: ProtobufWriter,
  field: number,
  attributes: Attributes | Nested,
  maxChars = MAX_VALUE_CHARS,
  depth = 0,
): void {
  for (const name in attributes) {
    const value = attributes[name]
    if (value === undefined) continue
    writer.message(field, () => {
      writer.string(1, name)
      writer.message(2, () => {
        if (typeof value === 'number' && FRACTIONS.has(name)) writer.double(4, value)
        else writeValue(writer, value, maxChars, depth)
      })
    })
  }
}

/** `AnyValue` of opentelemetry/proto/common/v1/common.proto. */
function writeValue(writer: ProtobufWriter, value: unknown, maxChars: number, depth: number): void {
  if (typeof value === 'string') writer.string(1, value.length > maxChars ? value.slice(0, maxChars) : value)
  else if (typeof value === 'boolean') writer.integer(2, value ? 1 : 0)
  else if (typeof value === 'number') writeNumber(writer, value)
  else if (typeof value !== 'object' || value === null || depth >= MAX_DEPTH) return
  else if (Array.isArray(value))
    writer.message(5, () => {
      for (const one of value) writer.message(1, () => writeValue(writer, one, maxChars, depth + 1))
    })
  else writer.message(6, () => writeAttributes(writer, 1, value as Nested, maxChars, depth + 1))
}

function writeNumber(writer: ProtobufWriter, value: number): void {
  if (Number.isSafeInteger(value) && value >= 0) writer.integer(3, value)
  else writer.double(4, value)
}
