import { type Family, SimulatorError } from '../errors.js'

type Words = readonly [message: string, type: string, code: string | undefined]

const WORDS: ReadonlyMap<number, Words> = new Map<number, Words>([
  [400, ['The request could not be understood.', 'invalid_request_error', undefined]],
  [401, ['Incorrect API key provided.', 'invalid_request_error', 'invalid_api_key']],
  [403, ['Your key may not do this.', 'invalid_request_error', 'permission_denied']],
  [404, ['The resource does not exist.', 'invalid_request_error', 'not_found']],
  [408, ['The request took too long to arrive.', 'timeout', undefined]],
  [409, ['The resource is being changed by another request.', 'conflict', undefined]],
  [413, ['The request is too large.', 'invalid_request_error', 'request_too_large']],
  [422, ['The request is well formed, but cannot be carried out.', 'invalid_request_error', undefined]],
  [429, ['Rate limit reached for requests. Please try again later.', 'requests', 'rate_limit_exceeded']],
  [500, ['The server had an error while processing your request. Sorry about that!', 'server_error', undefined]],
  [503, ['The engine is currently overloaded, please try again later.', 'server_error', undefined]],
  [529, ['The engine is currently overloaded, please try again later.', 'server_error', undefined]],
])
const CLIENT: Words = ['The request was refused.', 'invalid_request_error', undefined]
const SERVER: Words = ['The server had an error while processing your request.', 'server_error', undefined]

/** `{ error: { message, type, param, code } }`, with `null` where nothing is said. */
export const compatible: Family = {
  body: ({ status, message, details: { param = null, code, type } }) => {
    const [, usualType] = wordsFor(status)
    return { error: { message, type: type ?? usualType, param, code: code ?? null } }
  },
  usual: status => {
    const [message, type, code] = wordsFor(status)
    return new SimulatorError(status, message, code === undefined ? { type } : { type, code })
  },
  /** With the rate limits of a client that has hardly used them. */
  headers: requestId => ({
    'x-request-id': requestId,
    'x-ratelimit-limit-requests': '10000',
    'x-ratelimit-limit-tokens': '1000000',
    'x-ratelimit-remaining-requests': '9999',
    'x-ratelimit-remaining-tokens': '999999',
    'x-ratelimit-reset-requests': '6ms',
    'x-ratelimit-reset-tokens': '0s',
  }),
}

function wordsFor(status: number): Words {
  return WORDS.get(status) ?? (status < 500 ? CLIENT : SERVER)
}
