import { isObject, type Json, type JsonObject } from '../json.js'

const MAX_REF_DEPTH = 16
/** Parts of `allOf` for one value, those of parts among them. */
export const MAX_PARTS = 4000

/**
 * The schema with its `allOf` merged in. A lone reference in `allOf` becomes the schema's own. `parts.left`: how many parts may still
 * be merged; below 0, some were left out.
 */
export function settle(schema: JsonObject, root: Json, parts: { left: number }, depth = 0): JsonObject {
  const { allOf, ...own } = schema
  if (!Array.isArray(allOf) || depth > MAX_REF_DEPTH) return schema
  parts.left -= allOf.length
  if (parts.left < 0) return own
  const [first] = allOf
  if (allOf.length === 1 && isObject(first) && typeof first.$ref === 'string') return { ...own, ...first }
  return allOf
    .map(part => (isObject(part) ? settle(followed(part, root), root, parts, depth + 1) : {}))
    .reduce<JsonObject>(merge, own)
}

/** What a reference within the document points at (RFC 6901); nothing where it points outside or at nothing. */
export function resolve(reference: string, root: Json): Json | undefined {
  if (!reference.startsWith('#')) return undefined
  let at: Json | undefined = root
  for (const step of reference.slice(1).split('/').slice(1)) {
    const name = unescaped(step)
    if (Array.isArray(at)) at = at[Number(name)]
    else at = isObject(at) && Object.hasOwn(at, name) ? at[name] : undefined
  }
  return at
}

function unescaped(step: string): string {
  const plain = step.replace(/~1/g, '/').replace(/~0/g, '~')
  try {
    return decodeURIComponent(plain)
  } catch {
    return plain
  }
}

function followed(schema: JsonObject, root: Json): JsonObject {
  const { $ref: reference, ...beside } = schema
  const target = typeof reference === 'string' ? resolve(reference, root) : undefined
  return isObject(target) ? { ...target, ...beside } : schema
}

function merge(one: JsonObject, other: JsonObject): JsonObject {
  const merged: Record<string, Json> = { ...one, ...other }
  if (one.required && other.required) merged.required = [...strings(one.required), ...strings(other.required)]
  if (isObject(one.properties) && isObject(other.properties)) {
    merged.properties = bothOf(one.properties, other.properties)
  }
  for (const name of ['minimum', 'minLength', 'minItems', 'minProperties']) narrow(name, Math.max)
  for (const name of ['maximum', 'maxLength', 'maxItems', 'maxProperties']) narrow(name, Math.min)
  return merged

  function narrow(name: string, choose: (a: number, b: number) => number): void {
    const [a, b] = [one[name], other[name]]
    if (typeof a === 'number' && typeof b === 'number') merged[name] = choose(a, b)
  }
}

/** Properties of both; one that both have fits both schemas. */
function bothOf(one: JsonObject, other: JsonObject): JsonObject {
  const shared = Object.keys(other).filter(
    name => Object.hasOwn(one, name) && isObject(one[name]) && isObject(other[name]),
  )
  const both = shared.map((name): [string, Json] => [name, { allOf: [one[name] ?? true, other[name] ?? true] }])
  return { ...one, ...other, ...Object.fromEntries(both) }
}

/** The type that a schema names, the first that is not null, or the one that its other keywords speak of. */
export function typeOf(schema: JsonObject): string {
  const { type } = schema
  if (typeof type === 'string') return type
  if (Array.isArray(type)) return strings(type).find(each => each !== 'null') ?? 'null'
  const has = (...names: readonly string[]) => names.some(name => schema[name] !== undefined)
  if (has('properties', 'required', 'additionalProperties', 'patternProperties', 'minProperties')) return 'object'
  if (has('items', 'prefixItems', 'minItems', 'maxItems')) return 'array'
  if (has('minimum', 'maximum', 'multipleOf', 'exclusiveMinimum', 'exclusiveMaximum')) return 'number'
  return 'string'
}

/** The strings of a list, or nothing. */
export function strings(value: Json | undefined): readonly string[] {
  return Array.isArray(value) ? value.filter(each => typeof each === 'string') : []
}

/** A bound that is a number from 0 up, or another. */
export function bound(value: Json | undefined, otherwise: number): number {
  return typeof value === 'number' && value >= 0 ? value : otherwise
}
