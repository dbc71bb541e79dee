import type { JsonObject } from '../../core/json.js'

export const TEXT: JsonObject = { type: 'string' }
export const TEXT_OR_NULL: JsonObject = { type: ['string', 'null'] }
export const COUNT: JsonObject = { type: 'integer', minimum: 0 }
export const NUMBER: JsonObject = { type: 'number' }
export const FLAG: JsonObject = { type: 'boolean' }
export const OBJECT: JsonObject = { type: 'object' }
export const OBJECT_OR_NULL: JsonObject = { type: ['object', 'null'] }

type Members = Readonly<Record<string, JsonObject>>

/** An object with members that are always there, and others that may be; upstreams may add more. */
export function record(required: Members, optional: Members = {}): JsonObject {
  const names = Object.keys(required)
  return {
    type: 'object',
    ...(names.length === 0 ? {} : { required: names }),
    properties: { ...required, ...optional },
  }
}

export function listOf(items: JsonObject): JsonObject {
  return { type: 'array', items }
}

export function word(...words: readonly string[]): JsonObject {
  return words.length === 1 ? { const: words[0] ?? '' } : { type: 'string', enum: words }
}

/** A list with the ids of its ends, as the compatible interface pages. */
export function page(items: JsonObject): JsonObject {
  return record(
    { object: word('list'), data: listOf(items) },
    { first_id: TEXT_OR_NULL, last_id: TEXT_OR_NULL, has_more: FLAG },
  )
}

export function orNull(schema: JsonObject): JsonObject {
  return { anyOf: [schema, { type: 'null' }] }
}

/** What is left of something that was deleted. */
export const DELETED = record({ id: TEXT, deleted: { const: true } }, { object: TEXT })
