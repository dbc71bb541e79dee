import { type Family, SimulatorError } from '../errors.js'
import type { JsonObject } from '../json.js'
import { Fields, type Wording } from './fields.js'

type Words = readonly [name: string, message: string]

const WORDS: ReadonlyMap<number, Words> = new Map<number, Words>([
  [400, ['ValidationException', 'The provided request is not valid']],
  [401, ['UnrecognizedClientException', 'The security token included in the request is invalid.']],
  [403, ['AccessDeniedException', "You don't have access to the model with the specified model ID."]],
  [404, ['ResourceNotFoundException', 'Could not resolve the foundation model from the model identifier.']],
  [408, ['ModelTimeoutException', 'The model took too long.']],
  [429, ['ThrottlingException', 'Too many requests, please wait before trying again.']],
  [503, ['ServiceUnavailableException', 'The service is not available. Please try again.']],
])
const CLIENT: Words = ['ValidationException', 'The provided request is not valid']
const SERVER: Words = ['InternalServerException', 'The system encountered an unexpected error.']

/** `{message}`; the name of the error is in a header. */
export const conversations: Family = {
  body: ({ message }) => ({ message }),
  usual: status => {
    const [name, message] = WORDS.get(status) ?? (status < 500 ? CLIENT : SERVER)
    return new SimulatorError(status, message, { type: name, headers: { 'x-amzn-errortype': name } })
  },
  headers: requestId => ({ 'x-amzn-requestid': requestId }),
}

/** A refusal of the body. */
export function refused(message: string): SimulatorError {
  return new SimulatorError(400, message, { headers: { 'x-amzn-errortype': 'ValidationException' } })
}

const WORDING: Wording = {
  item: (list, index) => `${list}.${index + 1}.member`,
  missing: param => invalid(param, 'Member must not be null'),
  wrongType: (param, expected) => invalid(param, `Member must be ${expected}`),
  notListed: (param, _, supported) => invalid(param, `Member must satisfy enum value set: [${supported.join(', ')}]`),
  outside: (param, { side, bound }) =>
    invalid(param, `Member must have value ${side === 'min' ? 'greater' : 'less'} than or equal to ${bound}`),
  unknown: param => refused(`The model returned the following errors: ${param}: Extra inputs are not permitted`),
}

function invalid(param: string, constraint: string): SimulatorError {
  return refused(`1 validation error detected: Value at '${param}' failed to satisfy constraint: ${constraint}`)
}

export function converseFields(body: JsonObject): Fields {
  return new Fields(body, '', WORDING)
}
