import { isObject, type Json, type JsonObject } from '../../core/json.js'

/** What only a document of its own has. */
const TOP_ALONE: ReadonlySet<string> = new Set(['$schema', '$id'])

/**
 * A draft-07 schema as OpenAPI 3.1 has them (JSON Schema 2020-12): the component NAME, and one for each of its definitions. Generators of
 * clients take `$defs` for a member.
 */
export function asComponents(document: JsonObject, name: string): Readonly<Record<string, JsonObject>> {
  const { definitions = {}, ...rest } = document
  const components: Record<string, JsonObject> = { [name]: convert(rest, name) as JsonObject }
  if (!isObject(definitions)) return components
  for (const [inner, definition] of Object.entries(definitions))
    if (definition !== undefined) components[definitionName(name, inner)] = convert(definition, name) as JsonObject
  return components
}

function definitionName(name: string, definition: string): string {
  return componentName(`${name}.${definition}`)
}

function convert(value: Json, name: string): Json {
  if (Array.isArray(value)) return (value as readonly Json[]).map(one => convert(one, name))
  if (!isObject(value)) return value
  const converted: Record<string, Json> = {}
  for (const [key, inner] of Object.entries(value)) {
    if (TOP_ALONE.has(key) || inner === undefined) continue
    if (key === '$ref' && typeof inner === 'string') converted.$ref = referenceTo(inner, name)
    else if (key === 'items' && Array.isArray(inner)) converted.prefixItems = convert(inner, name)
    else converted[key] = convert(inner, name)
  }
  return converted
}

/** `#/definitions/part/properties/text` → `#/components/schemas/NAME.part/properties/text` */
function referenceTo(reference: string, name: string): string {
  const [, definition, rest = ''] = /^#\/definitions\/([^/]+)(.*)$/.exec(reference) ?? []
  if (definition !== undefined) return `#/components/schemas/${definitionName(name, definition)}${rest}`
  return reference.replace(/^#/, `#/components/schemas/${name}`)
}

/** A name as keys of components may be. */
export function componentName(name: string): string {
  return name.replace(/[^\w.-]/g, '_')
}
