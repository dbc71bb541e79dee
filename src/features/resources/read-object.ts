import { isObject, type Json, type JsonObject } from '../../core/json.js'
import type { ResourcePath } from '../../core/resources.js'

/** The value at a path of member names. */
function valueAt(object: JsonObject, path: ResourcePath): Json | undefined {
  let value: Json | undefined = object
  for (const name of path) {
    if (!isObject(value) || !Object.hasOwn(value, name)) return undefined
    value = value[name]
  }
  return value
}

export function textAt(object: JsonObject, path: ResourcePath): string | undefined {
  const value = valueAt(object, path)
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** A time in seconds or in RFC 3339 form, as milliseconds since the epoch. */
export function timestampOf(object: JsonObject, path: ResourcePath): number | undefined {
  const value = valueAt(object, path)
  const moment = typeof value === 'number' ? value * 1000 : typeof value === 'string' ? Date.parse(value) : Number.NaN
  return Number.isFinite(moment) ? moment : undefined
}
