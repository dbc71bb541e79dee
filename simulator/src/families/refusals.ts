import { SimulatorError } from '../errors.js'

/** The refusals of the compatible family that several of its protocols share, in the words that its clients know. */

export function missing(param: string): SimulatorError {
  return new SimulatorError(400, `Missing required parameter: '${param}'.`, {
    param,
    code: 'missing_required_parameter',
  })
}

export function wrongType(param: string, expected: string, got: string): SimulatorError {
  const message = `Invalid type for '${param}': expected ${expected}, but got ${got} instead.`
  return new SimulatorError(400, message, { param, code: 'invalid_type' })
}

export function wrongValue(param: string, message: string): SimulatorError {
  return new SimulatorError(400, message, { param, code: 'invalid_value' })
}

/** Of a value that the protocol knows, and this model does not. */
export function unsupportedValue(param: string, got: string, why: string): SimulatorError {
  const message = `Unsupported value: '${param}' does not support '${got}' with this model. ${why}`
  return new SimulatorError(400, message, { param, code: 'unsupported_value' })
}

export function notListed(param: string, got: string, supported: readonly string[]): SimulatorError {
  const list = supported.map(each => `'${each}'`).join(', ')
  return wrongValue(param, `Invalid value: '${got.slice(0, 100)}'. Supported values are: ${list}.`)
}

export function emptyArray(param: string): SimulatorError {
  const message = `Invalid '${param}': empty array. Expected an array with minimum length 1, but got an empty array instead.`
  return new SimulatorError(400, message, { param, code: 'empty_array' })
}

export function unknownParameter(param: string): SimulatorError {
  return new SimulatorError(400, `Unknown parameter: '${param}'.`, { param, code: 'unknown_parameter' })
}

export function unsupportedParameter(param: string, instead?: string): SimulatorError {
  const advice = instead === undefined ? '' : ` Use '${instead}' instead.`
  const message = `Unsupported parameter: '${param}' is not supported with this model.${advice}`
  return new SimulatorError(400, message, { param, code: 'unsupported_parameter' })
}

export function tooLong(param: string, most: number, length: number): SimulatorError {
  const message =
    `Invalid '${param}': array too long. Expected an array with maximum length ${most}, ` +
    `but got an array with length ${length} instead.`
  return new SimulatorError(400, message, { param, code: 'array_above_max_length' })
}
