import { jsonText } from '../../core/exact-json.js'
import { isObject, type Json, type JsonObject } from '../../core/json.js'
import { refuse } from './names.js'

/** Deepest schema that is rewritten. */
const MAX_DEPTH = 64

/** Keywords that stay as they are where the service checks answers by a schema. */
const KEPT = new Set(['type', 'enum', 'const', '$ref', 'title', 'description', 'default', 'required'])
const ONE = new Set(['items'])
const MANY: ReadonlyMap<string, string> = new Map([
  ['anyOf', 'anyOf'],
  ['oneOf', 'anyOf'],
  ['allOf', 'allOf'],
])
const NAMED = new Set(['properties', '$defs', 'definitions'])
/** What describes a schema and bounds nothing. */
const SILENT = new Set(['$schema', '$id', '$comment', 'additionalProperties'])
const FORMATS = ['date-time', 'time', 'date', 'duration', 'email', 'hostname', 'uri', 'ipv4', 'ipv6', 'uuid']

/**
 * The schema as the service accepts it for answers and strict arguments: objects are closed, and bounds that it does not
 * check (`minimum`, `maxLength`, `pattern` …) are in the description, where the model reads them. `at` names the schema
 * in the client's body.
 */
export function strictSchema(schema: JsonObject, at: string | undefined, depth = 0): JsonObject {
  if (depth > MAX_DEPTH) throw refuse(at, 'the schema is nested too deeply')
  const inner = (value: Json): Json => (isObject(value) ? strictSchema(value, at, depth + 1) : value)
  const out: [string, Json][] = []
  const bounds: string[] = []
  for (const [keyword, value] of Object.entries(schema)) {
    const branches = MANY.get(keyword)
    if (KEPT.has(keyword)) out.push([keyword, value])
    else if (ONE.has(keyword)) out.push([keyword, inner(value)])
    else if (branches !== undefined && Array.isArray(value)) out.push([branches, (value as readonly Json[]).map(inner)])
    else if (NAMED.has(keyword) && isObject(value)) {
      out.push([keyword, Object.fromEntries(Object.entries(value).map(([name, one]) => [name, inner(one)]))])
    } else if (isChecked(keyword, value)) out.push([keyword, value])
    else if (!SILENT.has(keyword)) bounds.push(`${keyword}: ${jsonText(value)}`)
  }
  if (isObjectSchema(schema)) out.push(['additionalProperties', false])
  if (isOpen(schema.additionalProperties)) bounds.push(`additionalProperties: ${jsonText(schema.additionalProperties)}`)
  if (bounds.length === 0) return Object.fromEntries(out)
  const said = typeof schema.description === 'string' ? `${schema.description}\n\n` : ''
  return Object.fromEntries([...out, ['description', `${said}{${bounds.join(', ')}}`]])
}

function isChecked(keyword: string, value: Json): boolean {
  if (keyword === 'format') return typeof value === 'string' && FORMATS.includes(value)
  return keyword === 'minItems' && (value === 0 || value === 1)
}

function isObjectSchema({ type, properties }: JsonObject): boolean {
  return type === 'object' || (Array.isArray(type) && type.includes('object')) || isObject(properties)
}

function isOpen(additional: Json | undefined): boolean {
  return additional === true || (isObject(additional) && Object.keys(additional).length > 0)
}
