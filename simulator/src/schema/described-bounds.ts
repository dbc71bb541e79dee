import type { Json, JsonObject } from '../json.js'

const BOUND = /\b((?:min|max)(?:imum|Items|Length)): (-?\d[\d.e+-]*)/g

/**
 * Bounds written at the end of a description, such as `{minItems: 3, maxItems: 3}`. Clients write them there for servers that
 * enforce only part of JSON Schema; models read them.
 */
export function describedBounds({ description }: JsonObject): JsonObject {
  if (typeof description !== 'string' || !description.endsWith('}')) return {}
  const words = description.slice(description.lastIndexOf('{'))
  const bounds = [...words.matchAll(BOUND)].map(([, name = '', value]): [string, Json] => [name, Number(value)])
  return Object.fromEntries(bounds.filter(([, value]) => Number.isFinite(value)))
}
