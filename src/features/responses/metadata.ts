import { GatewayError } from '../../core/errors.js'
import { isObject, type Json, type JsonObject } from '../../core/json.js'

const MAX_PAIRS = 16
const MAX_KEY_CHARS = 64
const MAX_VALUE_CHARS = 512

/** The metadata of a stored object: at most 16 short texts with short names; absent means empty. Throws `invalid_parameter`. */
export function readMetadata(value: Json | undefined): JsonObject {
  if (value === undefined || value === null) return {}
  if (!isObject(value)) throw invalid('metadata', 'must be an object of strings', 'invalid_type')
  const pairs = Object.entries(value)
  if (pairs.length > MAX_PAIRS) {
    throw invalid('metadata', `has more than ${MAX_PAIRS} members`, 'object_above_max_properties')
  }
  for (const [name, text] of pairs) {
    const param = `metadata.${name.slice(0, MAX_KEY_CHARS)}`
    if (name.length > MAX_KEY_CHARS) throw invalid('metadata', `has a name over ${MAX_KEY_CHARS} characters`)
    if (typeof text !== 'string') throw invalid(param, 'must be a string', 'invalid_type')
    if (text.length > MAX_VALUE_CHARS) {
      throw invalid(param, `has more than ${MAX_VALUE_CHARS} characters`, 'string_above_max_length')
    }
  }
  return value
}

function invalid(param: string, what: string, familyCode = 'invalid_value'): GatewayError {
  return new GatewayError('invalid_parameter', `'${param}' ${what}.`, { param, familyCode })
}
