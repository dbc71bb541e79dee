import { isObject, type Json, type JsonObject } from '../core/json.js'
import { invalid, numberOf, Reader } from './read.js'

/** The protocol has no longer name. */
const MAX_NAME_CHARS = 64

/** `inline_data` → `inlineData`. */
export function camelName(name: string): string {
  if (name.indexOf('_', 1) < 0 || name.length > MAX_NAME_CHARS) return name
  return name.replace(/([^_])_([a-z0-9])/g, (_, before: string, letter: string) => before + letter.toUpperCase())
}

/**
 * The object with its own members named in camelCase, as the protocol takes both forms of every field name (the JSON
 * mapping of protocol buffers). If both are given, the camelCase one counts. Values are not looked into.
 */
function camelled(value: JsonObject): JsonObject {
  const names = Object.keys(value)
  if (!names.some(name => camelName(name) !== name)) return value
  const out: Record<string, Json> = Object.create(null)
  for (const name of names) {
    const camel = camelName(name)
    const member = value[name]
    if (member !== undefined && (camel === name || !Object.hasOwn(value, camel))) out[camel] = member
  }
  return out
}

/** Reads an object of the protocol by the camelCase names of its members; errors and losses name them so, too. */
export function readerOf(value: JsonObject, at: string): Reader {
  return new Reader(camelled(value), at)
}

export function child(reader: Reader, name: string): Reader | undefined {
  const object = reader.object(name)
  return object === undefined ? undefined : readerOf(object.value, object.at)
}

/** Elements of a list of objects. One object stands for a list of one, as clients write it and upstreams take it. */
export function children(reader: Reader, name: string): readonly Reader[] {
  const value = reader.raw(name)
  if (value === undefined) return []
  if (isObject(value)) return [readerOf(value, `${reader.path(name)}[0]`)]
  return (reader.objects(name) ?? []).map(each => readerOf(each.value, each.at))
}

/** A whole number that may be written as text, as the protocol's 64-bit numbers are. */
export function whole(reader: Reader, name: string): number | undefined {
  const value = reader.raw(name)
  if (value === undefined) return undefined
  const number = typeof value === 'string' && /^-?\d{1,15}$/.test(value) ? Number(value) : numberOf(value)
  if (number !== undefined && Number.isSafeInteger(number)) return number
  throw invalid(reader.path(name), 'expected a whole number')
}
