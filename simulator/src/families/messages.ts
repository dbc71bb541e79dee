import { type Family, SimulatorError } from '../errors.js'
import type { JsonObject } from '../json.js'
import { Fields, type Wording } from './fields.js'

type Words = readonly [type: string, message: string]

const WORDS: ReadonlyMap<number, Words> = new Map<number, Words>([
  [400, ['invalid_request_error', 'The request could not be understood.']],
  [401, ['authentication_error', 'invalid x-api-key']],
  [402, ['billing_error', 'Your credit balance is too low.']],
  [403, ['permission_error', 'Your key may not do this.']],
  [404, ['not_found_error', 'Not found']],
  [409, ['conflict_error', 'The resource is being changed by another request.']],
  [413, ['request_too_large', 'Request exceeds the maximum size']],
  [429, ['rate_limit_error', 'This request would exceed your rate limit. Please try again later.']],
  [500, ['api_error', 'Internal server error']],
  [504, ['timeout_error', 'The request timed out.']],
  [529, ['overloaded_error', 'Overloaded']],
])
const CLIENT: Words = ['invalid_request_error', 'The request was refused.']
const SERVER: Words = ['api_error', 'Internal server error']

/** The family of message blocks: `{ type: "error", error: { type, message }, request_id }`. */
export const messageBlocks: Family = {
  body: ({ status, message, details: { type } }, requestId) => {
    return { type: 'error', error: { type: type ?? wordsFor(status)[0], message }, request_id: requestId }
  },
  usual: status => {
    const [type, message] = wordsFor(status)
    const again = status === 408 || status === 409 || status === 429 || status >= 500
    return new SimulatorError(status, message, { type, headers: { 'x-should-retry': String(again) } })
  },
  headers: requestId => ({ 'request-id': requestId }),
}

function wordsFor(status: number): Words {
  return WORDS.get(status) ?? (status < 500 ? CLIENT : SERVER)
}

/** A refusal of one member of the body. */
export function invalid(param: string, message: string): SimulatorError {
  return new SimulatorError(400, param === '' ? message : `${param}: ${message}`)
}

const WORDING: Wording = {
  item: (list, index) => `${list}.${index}`,
  missing: param => invalid(param, 'Field required'),
  wrongType: (param, expected) => invalid(param, `Input should be ${expected.replace(/^an? /, 'a valid ')}`),
  notListed: (param, _, supported) => invalid(param, `Input should be ${listed(supported)}`),
  outside: (param, { side, bound }) =>
    invalid(param, `Input should be ${side === 'min' ? 'greater' : 'less'} than or equal to ${bound}`),
  unknown: param => invalid(param, 'Extra inputs are not permitted'),
}

/** Reads a body of this family, and refuses in its words: `messages.0.content: Field required`. */
export function messageFields(body: JsonObject): Fields {
  return new Fields(body, '', WORDING)
}

/** `'a', 'b' or 'c'` */
export function listed(names: readonly string[]): string {
  return names
    .map(name => `'${name}'`)
    .join(', ')
    .replace(/, ([^,]*)$/, ' or $1')
}
