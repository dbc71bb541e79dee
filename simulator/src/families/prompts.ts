import type { Json } from '../json.js'
import type { Fields } from './fields.js'
import { describe } from './fields.js'
import { wrongType } from './refusals.js'

/** One input: a text, or the numbers of tokens that were made elsewhere. */
export type Prompt = string | readonly number[]

/** Reads a text, several texts, one list of tokens or several such lists. Nothing where the member is absent. */
export function readPrompts(body: Fields, name: string): readonly Prompt[] | undefined {
  const value = body.raw(name)
  if (value === undefined) return undefined
  if (typeof value === 'string') return [value]
  if (!Array.isArray(value)) throw wrongType(name, 'a string or an array', describe(value))
  return isTokens(value) && value.length > 0 ? [value] : value.map((each, index) => prompt(each, `${name}[${index}]`))
}

function prompt(value: Json, param: string): Prompt {
  if (typeof value === 'string' || isTokens(value)) return value
  throw wrongType(param, 'a string or an array of tokens', describe(value))
}

function isTokens(value: Json): value is readonly number[] {
  return Array.isArray(value) && value.every(each => Number.isInteger(each))
}
