import { isObject, type Json, type JsonObject } from '../../core/json.js'
import { camelName } from '../native-casing.js'
import { invalid } from '../read.js'

/** Deepest schema that is read. */
const MAX_DEPTH = 64

/** Members that the dialect names in either form; others are keywords of JSON Schema, or names that the client chose. */
const NATIVE = new Set([
  ...['anyOf', 'minItems', 'maxItems', 'minLength', 'maxLength', 'minProperties', 'maxProperties', 'propertyOrdering'],
])

/** The dialect's types by their numbers, which some clients send. */
const TYPES = ['TYPE_UNSPECIFIED', 'STRING', 'NUMBER', 'INTEGER', 'BOOLEAN', 'ARRAY', 'OBJECT', 'NULL'] as const

/** 64-bit numbers, which the dialect writes as text. */
const COUNTS = new Set(['minItems', 'maxItems', 'minLength', 'maxLength', 'minProperties', 'maxProperties'])

/**
 * JSON Schema for a schema in the protocol's dialect of OpenAPI: types in capitals, `nullable`, counts as text,
 * `propertyOrdering`, `example`. What is JSON Schema already stays as it is.
 */
export function jsonSchema(schema: JsonObject, at: string, depth = 0): JsonObject {
  if (depth > MAX_DEPTH) throw invalid(at, 'the schema is nested too deep')
  const out: Record<string, Json> = {}
  for (const [written, value] of Object.entries(schema)) {
    const name = keyword(written)
    if (name !== '__proto__' && value !== null) member(out, name, value, `${at}.${name}`, depth + 1)
  }
  if (schema.nullable === true) nullable(out)
  return ordered(out, schema.propertyOrdering ?? schema.property_ordering)
}

function keyword(written: string): string {
  const name = camelName(written)
  return NATIVE.has(name) ? name : written
}

function member(out: Record<string, Json>, name: string, value: Json, at: string, depth: number): void {
  switch (name) {
    case 'nullable':
    case 'propertyOrdering':
      return
    case 'type':
      {
        const type = typeof value === 'number' ? TYPES[value] : value
        if (type !== undefined && type !== 'TYPE_UNSPECIFIED')
          out.type = typeof type === 'string' ? typeName(type) : type
      }
      return
    case 'format':
      // The dialect marks strings with an enumeration so; to JSON Schema it is a format that no one knows.
      if (value !== 'enum') out.format = value
      return
    case 'example':
      out.examples = [value]
      return
    case 'items':
    case 'additionalProperties':
    case 'not':
      out[name] = isObject(value) ? jsonSchema(value, at, depth) : value
      return
    case 'anyOf':
    case 'allOf':
    case 'oneOf':
    case 'prefixItems':
      out[name] = Array.isArray(value)
        ? value.map(each => (isObject(each) ? jsonSchema(each, at, depth) : each))
        : value
      return
    case 'properties':
    case 'patternProperties':
    case '$defs':
    case 'definitions':
      out[name] = isObject(value) ? schemas(value, at, depth) : value
      return
    default:
      out[name] = COUNTS.has(name) && typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value
  }
}

function schemas(value: JsonObject, at: string, depth: number): JsonObject {
  const out: Record<string, Json> = {}
  for (const [name, each] of Object.entries(value)) {
    if (name !== '__proto__') out[name] = isObject(each) ? jsonSchema(each, `${at}.${name}`, depth) : each
  }
  return out
}

function typeName(type: string): string {
  return /^[A-Z]+$/.test(type) ? type.toLowerCase() : type
}

function nullable(out: Record<string, Json>): void {
  const { type } = out
  if (typeof type === 'string') out.type = type === 'null' ? type : [type, 'null']
  if (Array.isArray(out.enum) && !out.enum.includes(null)) out.enum = [...out.enum, null]
  if (Array.isArray(out.anyOf)) out.anyOf = [...out.anyOf, { type: 'null' }]
}

/** JSON Schema has no other order than that of the properties. */
function ordered(out: Record<string, Json>, order: Json | undefined): JsonObject {
  const { properties } = out
  if (!Array.isArray(order) || !isObject(properties)) return out
  const first: Record<string, Json> = {}
  for (const name of order) {
    if (typeof name !== 'string' || name === '__proto__' || !Object.hasOwn(properties, name)) continue
    const property = properties[name]
    if (property !== undefined) first[name] = property
  }
  return { ...out, properties: { ...first, ...properties } }
}
