import { type Family, SimulatorError } from '../errors.js'
import type { JsonObject } from '../json.js'
import { Fields, type Wording } from './fields.js'

type Words = readonly [status: string, message: string]

const WORDS: ReadonlyMap<number, Words> = new Map<number, Words>([
  [400, ['INVALID_ARGUMENT', 'Request contains an invalid argument.']],
  [401, ['UNAUTHENTICATED', 'Request had invalid authentication credentials.']],
  [403, ['PERMISSION_DENIED', "Method doesn't allow unregistered callers (callers without established identity)."]],
  [404, ['NOT_FOUND', 'Requested entity was not found.']],
  [409, ['ABORTED', 'The operation was aborted.']],
  [429, ['RESOURCE_EXHAUSTED', 'You exceeded your current quota, please check your plan and billing details.']],
  [499, ['CANCELLED', 'The operation was cancelled.']],
  [500, ['INTERNAL', 'An internal error has occurred. Please retry or report it.']],
  [501, ['UNIMPLEMENTED', 'The operation is not implemented.']],
  [503, ['UNAVAILABLE', 'The model is overloaded. Please try again later.']],
  [504, ['DEADLINE_EXCEEDED', 'The request timed out. Please try again.']],
])
const CLIENT: Words = ['INVALID_ARGUMENT', 'The request was refused.']
const SERVER: Words = ['INTERNAL', 'An internal error has occurred.']

/** The native family: `{ error: { code, message, status, details? } }`. It sends no limits and no id in its headers. */
export const native: Family = {
  body: ({ status: code, message, details: { code: status, wait } }) => {
    const details = wait === undefined ? {} : { details: [{ '@type': RETRY_INFO, retryDelay: `${wait}s` }] }
    const known = status !== undefined && /^[A-Z_]+$/.test(status) ? status : wordsFor(code)[0]
    return { error: { code, message, status: known, ...details } }
  },
  usual: status => new SimulatorError(status, wordsFor(status)[1]),
  headers: () => ({ 'x-content-type-options': 'nosniff' }),
}

/** As the native family, where a stream was asked for that is an array: errors come in one, too. */
export const nativeArray: Family = { ...native, body: (error, requestId) => [native.body(error, requestId)] }

const RETRY_INFO = 'type.googleapis.com/google.rpc.RetryInfo'

function wordsFor(status: number): Words {
  return WORDS.get(status) ?? (status < 500 ? CLIENT : SERVER)
}

/** A refusal with 400. */
export function badArgument(message: string): SimulatorError {
  return new SimulatorError(400, message, { code: 'INVALID_ARGUMENT' })
}

/** What is wrong with one field: `* GenerateContentRequest.contents: contents is not specified`. */
export function badField(field: string, message: string): SimulatorError {
  return badArgument(`* GenerateContentRequest.${field}: ${message}\n`)
}

const WORDING: Wording = {
  item: (list, index) => `${list}[${index}]`,
  missing: param => badField(param, 'must be specified'),
  wrongType: (param, expected, got) => badField(param, `must be ${expected}, not ${got}`),
  notListed: (param, got, supported) => badField(param, `"${got.slice(0, 100)}" is none of ${supported.join(', ')}`),
  outside: (param, { side, bound, value }) =>
    badField(param, `must be ${side === 'min' ? 'at least' : 'at most'} ${bound}, but is ${value}`),
  unknown: param => badField(param, 'is unknown'),
}

/** Reads a body of this family whose names and types have been checked. */
export function nativeFields(body: JsonObject): Fields {
  return new Fields(body, '', WORDING)
}
