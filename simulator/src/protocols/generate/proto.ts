import { describe } from '../../families/fields.js'
import { badArgument } from '../../families/native.js'
import { isObject, type Json, type JsonObject } from '../../json.js'

/** What a field holds: a scalar, any JSON, one of some names, a message of the table, or a list or map of one of them. */
export type FieldType =
  | Scalar
  | { readonly names: readonly string[] }
  | { readonly message: string }
  | { readonly list: FieldType }
  | { readonly map: string }
type Scalar = 'string' | 'bytes' | 'bool' | 'int32' | 'int64' | 'number' | 'struct' | 'json'

/** The fields of each message, by their names in camelCase. */
export type Messages = Readonly<Record<string, Readonly<Record<string, FieldType>>>>

/**
 * Reads a JSON document as the protocol's JSON mapping does: names in camelCase or snake_case, whole numbers also as
 * strings, bytes in either base64 alphabet, names of choices also in small letters or as their number, nothing that the message does not have. The result has camelCase names, and
 * no member that was null. Throws {@link SimulatorError}.
 */
export function readMessage(messages: Messages, name: string, value: JsonObject, path = ''): JsonObject {
  const fields = messages[name] ?? {}
  const read: Record<string, Json> = {}
  for (const [key, member] of Object.entries(value)) {
    const field = camel(key)
    const type = Object.hasOwn(fields, field) ? fields[field] : undefined
    if (type === undefined) throw unknown(key, path)
    const place = path === '' ? snake(field) : `${path}.${snake(field)}`
    if (member !== null) read[field] = readField(messages, type, member, place)
  }
  return read
}

function readField(messages: Messages, type: FieldType, value: Json, path: string): Json {
  if (typeof type === 'string') return readScalar(type, value, path)
  if ('names' in type) return readName(type.names, value, path)
  if ('message' in type) {
    if (!isObject(value)) throw wrong(path, type.message, value)
    return readMessage(messages, type.message, value, path)
  }
  if ('list' in type) {
    // A single value stands for a list of one, as the mapping of some clients has it.
    const items = Array.isArray(value) ? value : [value]
    return items.map((item, index) => readField(messages, type.list, item, `${path}[${index}]`))
  }
  if (!isObject(value)) throw wrong(path, 'map', value)
  const entries = Object.entries(value).map(([key, item]) => {
    if (!isObject(item)) throw wrong(`${path}[0].value`, type.map, item)
    return [key, readMessage(messages, type.map, item, `${path}[0].value`)] as const
  })
  return Object.fromEntries(entries)
}

/** A number counts the names from 0; one that has no name yet may be a newer client's, as may be in the mapping. */
function readName(names: readonly string[], value: Json, path: string): Json {
  if (typeof value === 'number' && Number.isInteger(value)) return names[value] ?? value
  return fit(typeof value === 'string' && names.includes(value.toUpperCase()), value, path, 'TYPE_ENUM')
}

function readScalar(type: Scalar, value: Json, path: string): Json {
  switch (type) {
    case 'json':
      return value
    case 'struct':
      return fit(isObject(value), value, path, 'Struct')
    case 'string':
      return fit(typeof value === 'string', value, path, 'TYPE_STRING')
    case 'bool':
      return fit(typeof value === 'boolean', value, path, 'TYPE_BOOL')
    case 'number':
      return fit(typeof value === 'number', value, path, 'TYPE_FLOAT')
    case 'bytes':
      return fit(typeof value === 'string' && isBase64(value), value, path, 'TYPE_BYTES', 'Base64 decoding failed')
    case 'int32':
    case 'int64': {
      const number = typeof value === 'string' && /^-?\d{1,18}$/.test(value) ? Number(value) : value
      return fit(Number.isInteger(number), number, path, type === 'int32' ? 'TYPE_INT32' : 'TYPE_INT64')
    }
  }
}

function fit(fits: boolean, value: Json, path: string, type: string, why?: string): Json {
  if (fits) return value
  throw wrong(path, type, value, why)
}

/** Both alphabets (RFC 4648, sections 4 and 5), padded or not. */
function isBase64(text: string): boolean {
  return /^[A-Za-z0-9+/_-]*={0,2}$/.test(text)
}

function wrong(path: string, type: string, value: Json, why?: string) {
  const got = typeof value === 'string' ? `"${value.slice(0, 100)}"` : describe(value)
  return badArgument(`Invalid value at '${path}' (${type}), ${why === undefined ? got : `${why} for ${got}`}`)
}

function unknown(key: string, path: string) {
  const where = path === '' ? '' : ` at '${path}'`
  return badArgument(`Invalid JSON payload received. Unknown name "${key.slice(0, 100)}"${where}: Cannot find field.`)
}

function camel(name: string): string {
  return name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())
}

function snake(name: string): string {
  return name.replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`)
}
