import type { Fields } from '../../families/fields.js'
import { invalid } from '../../families/messages.js'
import { isObject, type Json, type JsonObject } from '../../json.js'
import type { Format } from '../../text/conversation.js'

/** Bounds that this protocol's grammars cannot hold an answer to. */
const UNSUPPORTED: Readonly<Record<string, readonly string[]>> = {
  integer: ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'],
  number: ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'],
  string: ['minLength', 'maxLength'],
  array: ['maxItems', 'uniqueItems'],
}

/** `output_config.format`, or the member of the body that it was at first. */
export function readFormat(body: Fields): Format {
  const format = body.fields('output_config')?.fields('format') ?? body.fields('output_format')
  if (format === undefined) return { type: 'text' }
  format.only(['type', 'schema']).need('type', schemaType)
  const schema = format.need('schema', format.fields)
  checkStrict(schema.object, schema.path)
  return { type: 'schema', schema: schema.object }
}

function schemaType(this: Fields, name: string): string | undefined {
  return this.oneOf(name, ['json_schema'])
}

/** Throws where a schema asks for more than this protocol can enforce. */
export function checkStrict(schema: JsonObject, path: string): void {
  const { type } = schema
  if (type === 'object' && schema.additionalProperties !== false) {
    throw invalid(path, "For 'object' type, 'additionalProperties' must be explicitly set to false")
  }
  const bad = typeof type !== 'string' ? undefined : UNSUPPORTED[type]?.find(name => schema[name] !== undefined)
  if (bad !== undefined) throw invalid(path, `For '${type}' type, property '${bad}' is not supported`)
  for (const inner of innerSchemas(schema)) checkStrict(inner, path)
}

function innerSchemas(schema: JsonObject): readonly JsonObject[] {
  const { properties, $defs, definitions, items, anyOf, allOf, oneOf } = schema
  return [...values(properties), ...values($defs), ...values(definitions), items, ...list(anyOf), ...list(allOf)]
    .concat(list(oneOf))
    .filter(isObject)
}

function values(value: Json | undefined): readonly Json[] {
  return isObject(value) ? Object.values(value) : []
}

function list(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? value : []
}
