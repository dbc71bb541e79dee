import type { Json, JsonObject } from '../json.js'
import { allows } from './numbers.js'
import { bound, typeOf } from './settle.js'

/** Wished values for top-level properties, by name, as text. */
export type Hints = ReadonlyMap<string, string>

export const NO_HINTS: Hints = new Map()

/** The wished value in the schema's type, or nothing where the schema would not take it. */
export function hinted(schema: JsonObject, hint: string | undefined): Json | undefined {
  if (hint === undefined || UNSURE.some(name => schema[name] !== undefined)) return undefined
  const { enum: listed } = schema
  if (Array.isArray(listed)) return listed.find(each => String(each) === hint)
  switch (typeOf(schema)) {
    case 'boolean':
      return hint === 'true' ? true : hint === 'false' ? false : undefined
    case 'integer':
      return Number.isSafeInteger(Number(hint)) && allows(schema, Number(hint)) ? Number(hint) : undefined
    case 'number':
      return allows(schema, Number(hint)) ? Number(hint) : undefined
    case 'string':
      return fits(schema, hint) ? hint : undefined
    default:
      return undefined
  }
}

const UNSURE = ['$ref', 'anyOf', 'oneOf', 'const', 'pattern'] as const

const FORMATS: ReadonlyMap<unknown, RegExp> = new Map([
  ['email', /^[\w.+-]+@[\w-]+(?:\.[\w-]+)+$/],
  ['uri', /^https?:\/\/\S+$/],
  ['date', /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])$/],
])

function fits(schema: JsonObject, hint: string): boolean {
  if (schema.format !== undefined && FORMATS.get(schema.format)?.test(hint) !== true) return false
  return hint.length >= bound(schema.minLength, 0) && hint.length <= bound(schema.maxLength, hint.length)
}
