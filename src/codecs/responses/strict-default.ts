import { isObject, type Json, type JsonObject } from '../../core/json.js'

/** Deepest schema that is looked through. */
const MAX_DEPTH = 64

/**
 * What it means that a function says nothing of `strict`: an upstream of this protocol then checks arguments by what it
 * can make of the schema. Others check by the unchanged schema or refuse it, so to them it is strict if every object is
 * closed and wants all of its members, and nothing is said of it otherwise.
 */
export function strictUnsaid(schema: JsonObject | undefined): true | undefined {
  return schema?.type === 'object' && isStrictSchema(schema) ? true : undefined
}

function isStrictSchema(schema: JsonObject, depth = 0): boolean {
  if (depth > MAX_DEPTH) return false
  const { type, properties, additionalProperties, required } = schema
  const isObjectSchema = type === 'object' || (Array.isArray(type) && type.includes('object')) || isObject(properties)
  if (isObjectSchema) {
    if (additionalProperties !== false) return false
    const wanted = new Set(Array.isArray(required) ? required : [])
    if (!Object.keys(isObject(properties) ? properties : {}).every(name => wanted.has(name))) return false
  }
  return innerOf(schema).every(inner => isStrictSchema(inner, depth + 1))
}

function innerOf({ properties, items, anyOf, $defs, definitions }: JsonObject): readonly JsonObject[] {
  const named = [properties, $defs, definitions].flatMap((each): readonly Json[] =>
    isObject(each) ? Object.values(each) : [],
  )
  const listed: readonly Json[] = Array.isArray(anyOf) ? anyOf : []
  return [...named, ...listed, ...(items === undefined ? [] : [items])].filter(isObject)
}
