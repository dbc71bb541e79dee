import { isObject, type Json, type JsonObject } from '../../core/json.js'

/** What of an object is kept for lists, in characters of JSON, and of one of its members. */
const MOST = 64 * 1024
const MOST_MEMBER = 8 * 1024
const DEEPEST = 4

/** The object without what is too large for a list: the results that stand in some of them. */
export function shrunk(object: JsonObject): JsonObject | undefined {
  if (JSON.stringify(object).length <= MOST) return object
  const small = pruned(object, 0)
  return JSON.stringify(small).length <= MOST ? small : undefined
}

function pruned(object: JsonObject, depth: number): JsonObject {
  const members: [string, Json][] = []
  for (const [name, value] of Object.entries(object)) {
    if (JSON.stringify(value).length <= MOST_MEMBER) members.push([name, value])
    else if (isObject(value) && depth < DEEPEST) members.push([name, pruned(value, depth + 1)])
  }
  return Object.fromEntries(members)
}
