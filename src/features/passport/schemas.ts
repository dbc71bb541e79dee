import { isObject, type Json, type JsonObject } from '../../core/json.js'

/** What only a document of its own has. */
const TOP_ALONE: ReadonlySet<string> = new Set(['$schema', '$id'])

/**
 * A draft-07 schema as OpenAPI 3.1 has them (JSON Schema 2020-12), for the place `#/components/schemas/NAME`: definitions
 * and references to them have other names there.
 */
export function asComponent(document: JsonObject, name: string): JsonObject {
  return convert(document, `#/components/schemas/${name}`) as JsonObject
}

function convert(value: Json, place: string): Json {
  if (Array.isArray(value)) return (value as readonly Json[]).map(one => convert(one, place))
  if (!isObject(value)) return value
  const converted: Record<string, Json> = {}
  for (const [key, inner] of Object.entries(value)) {
    if (TOP_ALONE.has(key) || inner === undefined) continue
    if (key === 'definitions') converted.$defs = convert(inner, place)
    else if (key === '$ref' && typeof inner === 'string')
      converted.$ref = inner.replace(
        /^#(\/definitions(?=\/))?/,
        (_, inside) => `${place}${inside === undefined ? '' : '/$defs'}`,
      )
    else if (key === 'items' && Array.isArray(inner)) converted.prefixItems = convert(inner, place)
    else converted[key] = convert(inner, place)
  }
  return converted
}

/** A name as keys of components may be. */
export function componentName(name: string): string {
  return name.replace(/[^\w.-]/g, '_')
}
