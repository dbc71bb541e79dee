import { ExactNumber, isObject, type Json, type JsonObject } from '../../core/json.js'

/** Deepest schema that is rewritten; what lies deeper goes out as it is. */
const MAX_DEPTH = 64

/** Keywords that the upstream reads past. */
const UNCHECKED = new Set([
  ...['pattern', 'minLength', 'maxLength', 'multipleOf', 'exclusiveMinimum', 'exclusiveMaximum', 'uniqueItems'],
  ...['allOf', 'not', 'if', 'then', 'else', 'contains', 'patternProperties', 'propertyNames', 'minProperties'],
  ...['maxProperties', 'dependentRequired', 'dependentSchemas', 'unevaluatedProperties'],
])

/**
 * A schema in the part of JSON Schema that the protocol knows (its reference names the keywords): `const` is an `enum` of
 * one, and a `$ref` is alone, so that what stood beside it is around it. Bounds that it does not know go out as
 * they are, for upstreams that learn them, and are put down in `unchecked`.
 */
export function schemaOut(schema: JsonObject, unchecked: Set<string>, depth = 0): JsonObject {
  if (depth > MAX_DEPTH) return schema
  const out: Record<string, Json> = {}
  for (const [keyword, value] of Object.entries(plain(schema))) {
    if (keyword === '__proto__') continue
    if (UNCHECKED.has(keyword)) unchecked.add(keyword)
    out[keyword] = inner(keyword, value, unchecked, depth + 1)
  }
  return withConst(out, unchecked)
}

function inner(keyword: string, value: Json, unchecked: Set<string>, depth: number): Json {
  const one = (each: Json): Json => (isObject(each) ? schemaOut(each, unchecked, depth) : each)
  switch (keyword) {
    case 'items':
    case 'additionalProperties':
      return one(value)
    case 'anyOf':
    case 'oneOf':
    case 'prefixItems':
      return Array.isArray(value) ? (value as readonly Json[]).map(one) : value
    case 'properties':
    case '$defs':
    case 'definitions':
      return isObject(value)
        ? Object.fromEntries(Object.entries(value).map(([name, each]) => [name, one(each)]))
        : value
    default:
      return value
  }
}

/** Without an `allOf` of one, and with nothing beside a `$ref`. */
function plain(schema: JsonObject): JsonObject {
  const { allOf, ...rest } = schema
  const [only, second] = Array.isArray(allOf) ? (allOf as readonly Json[]) : []
  const merged = isObject(only) && second === undefined ? around(only, rest) : schema
  const { $ref, ...beside } = merged
  return $ref === undefined || !Object.keys(beside).some(isOwn) ? merged : around({ $ref }, beside)
}

function isOwn(keyword: string): boolean {
  return !keyword.startsWith('$')
}

/** One schema within another that says more of the same value. */
function around(inside: JsonObject, outside: JsonObject): JsonObject {
  if (inside.$ref === undefined && !Object.keys(inside).some(keyword => Object.hasOwn(outside, keyword))) {
    return { ...inside, ...outside }
  }
  if (Object.keys(outside).length === 0) return inside
  return outside.anyOf === undefined ? { anyOf: [inside], ...outside } : { ...outside, allOf: [inside] }
}

function withConst(schema: JsonObject, unchecked: Set<string>): JsonObject {
  const { const: value, ...rest } = schema
  if (value === undefined) return schema
  if (value === null) return { type: 'null', ...rest }
  if (value instanceof ExactNumber) return { type: 'number', enum: [value], ...rest }
  if (typeof value === 'string' || typeof value === 'number') return { type: typeof value, enum: [value], ...rest }
  unchecked.add('const')
  return schema
}
