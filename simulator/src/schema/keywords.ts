import type { Json, JsonObject } from '../json.js'

/** The type that a schema names, the first that is not null, or the one that its other keywords speak of. */
export function typeOf(schema: JsonObject): string {
  const { type } = schema
  if (typeof type === 'string') return type
  if (Array.isArray(type)) return strings(type).find(each => each !== 'null') ?? 'null'
  const has = (...names: readonly string[]) => names.some(name => schema[name] !== undefined)
  if (has('properties', 'required', 'additionalProperties')) return 'object'
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
