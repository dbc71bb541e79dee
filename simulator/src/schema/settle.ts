import type { Json, JsonObject } from '../json.js'
import { isObject } from '../json.js'
import { strings } from './keywords.js'

const MAX_REF_DEPTH = 16

/** The schema with its `allOf` merged in. A lone reference in `allOf` becomes the schema's own. */
export function settle(schema: JsonObject, root: Json, depth = 0): JsonObject {
  const { allOf, ...own } = schema
  if (!Array.isArray(allOf) || depth > MAX_REF_DEPTH) return schema
  const [first] = allOf
  if (allOf.length === 1 && isObject(first) && typeof first.$ref === 'string') return { ...own, ...first }
  return allOf
    .map(part => (isObject(part) ? settle(followed(part, root), root, depth + 1) : {}))
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
    merged.properties = { ...one.properties, ...other.properties }
  }
  for (const name of ['minimum', 'minLength', 'minItems']) narrow(name, Math.max)
  for (const name of ['maximum', 'maxLength', 'maxItems']) narrow(name, Math.min)
  return merged

  function narrow(name: string, choose: (a: number, b: number) => number): void {
    const [a, b] = [one[name], other[name]]
    if (typeof a === 'number' && typeof b === 'number') merged[name] = choose(a, b)
  }
}
