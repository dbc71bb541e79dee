import type { Json, JsonObject } from '../../core/json.js'

const BOUND = /\b((?:min|max)(?:imum|Items|Length)): (-?\d[\d.e+-]*)/g

/**
 * Bounds that stand in words, as `{minItems: 3, maxItems: 3}` at the end of a description: servers that check answers by
 * part of a schema get the rest so, and models read it.
 */
export function told({ description }: JsonObject): JsonObject {
  if (typeof description !== 'string' || !description.endsWith('}')) return {}
  const words = description.slice(description.lastIndexOf('{'))
  const bounds = [...words.matchAll(BOUND)].map(([, name = '', value]): [string, Json] => [name, Number(value)])
  return Object.fromEntries(bounds.filter(([, value]) => Number.isFinite(value)))
}
