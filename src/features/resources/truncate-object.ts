import { isObject, type Json, type JsonObject } from '../../core/json.js'

/** Most that is kept of an object for lists, and of one of its members, characters of JSON. */
const MAX_OBJECT_CHARS = 64 * 1024
const MAX_MEMBER_CHARS = 8 * 1024
const MAX_DEPTH = 4

/** The object without members that are too large for a list, such as results. */
export function truncateObject(object: JsonObject): JsonObject | undefined {
  if (JSON.stringify(object).length <= MAX_OBJECT_CHARS) return object
  const small = pruned(object, 0)
  return JSON.stringify(small).length <= MAX_OBJECT_CHARS ? small : undefined
}

function pruned(object: JsonObject, depth: number): JsonObject {
  const members: [string, Json][] = []
  for (const [name, value] of Object.entries(object)) {
    if (JSON.stringify(value).length <= MAX_MEMBER_CHARS) members.push([name, value])
    else if (isObject(value) && depth < MAX_DEPTH) members.push([name, pruned(value, depth + 1)])
  }
  return Object.fromEntries(members)
}
