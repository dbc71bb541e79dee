import { isObject, type Json, type JsonObject } from '../../json.js'

/** A schema of this protocol's own dialect, as JSON Schema. */
export function jsonSchema(schema: JsonObject): JsonObject {
  const { type, nullable, format, properties, items, anyOf, propertyOrdering: _, example: __, ...rest } = schema
  const kind = typeof type === 'string' ? type.toLowerCase() : undefined
  return {
    ...rest,
    ...(kind === undefined || kind === 'type_unspecified' ? {} : { type: nullable ? [kind, 'null'] : kind }),
    ...(typeof format === 'string' && format !== 'enum' ? { format } : {}),
    ...(isObject(properties) ? { properties: mapped(properties) } : {}),
    ...(isObject(items) ? { items: jsonSchema(items) } : {}),
    ...(Array.isArray(anyOf) ? { anyOf: anyOf.filter(isObject).map(jsonSchema) } : {}),
  }
}

function mapped(properties: JsonObject): JsonObject {
  const entries = Object.entries(properties).map(([name, value]): [string, Json] => [
    name,
    isObject(value) ? jsonSchema(value) : value,
  ])
  return Object.fromEntries(entries)
}
