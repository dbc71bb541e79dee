import type { UpstreamError } from '../core/codec.js'
import { GatewayError } from '../core/errors.js'
import { isObject, type Json, type JsonObject } from '../core/json.js'
import { arrayOf, given, numberOf, objectOf, stringOf } from './read.js'

/**
 * What a refusal says: `{error: {code, message, status, details}}`, or a list of one such, as streams have it that are
 * one array. Never throws.
 */
export function decodeError(status: number, body: Json | undefined): UpstreamError {
  const error = errorOf(body)
  if (error === undefined) return { message: undefined }
  const details = arrayOf(error.details).filter(isObject)
  return {
    message: stringOf(error.message),
    ...given({
      param: stringOf(details.flatMap(({ fieldViolations }) => arrayOf(fieldViolations)).find(isObject)?.field),
      code: codeOf(status, error, details),
      retryAfter: retryAfterOf(details),
    }),
  }
}

/** The `error` of a document, where it is one. */
export function errorOf(body: Json | undefined): JsonObject | undefined {
  const document = Array.isArray(body) ? objectOf(body[0]) : objectOf(body)
  return objectOf(document?.error)
}

/** An error in the middle of a stream, or in a document that was not a refusal. */
export function streamError(error: JsonObject): GatewayError {
  const message = stringOf(error.message) ?? 'The upstream failed.'
  const code = numberOf(error.code)
  const status = code !== undefined && Number.isInteger(code) && code >= 400 && code <= 599 ? code : undefined
  const details = arrayOf(error.details).filter(isObject)
  const isLimit = status === 429
  return new GatewayError(isLimit ? 'rate_limited' : 'upstream_failed', message, {
    phase: 'stream_error',
    ...(status !== undefined && status >= 500 && { status }),
    ...given({ retryAfter: retryAfterOf(details) }),
  })
}

/** A wrong key is a refusal with status 400 here: what tells it from a wrong request is in the details. */
function codeOf(status: number, error: JsonObject, details: readonly JsonObject[]): string | undefined {
  const message = stringOf(error.message) ?? ''
  const isKey = details.some(({ reason }) => typeof reason === 'string' && reason.startsWith('API_KEY_'))
  if (isKey || message.startsWith('API key not valid') || message.startsWith('API key expired'))
    return 'invalid_api_key'
  if (status === 429 || error.status === 'RESOURCE_EXHAUSTED') return 'rate_limit_exceeded'
  if (/input token count.{0,40}exceeds the maximum/i.test(message)) return 'context_length_exceeded'
  return status === 404 && /^models\//.test(message) ? 'model_not_found' : undefined
}

/** `RetryInfo.retryDelay`: seconds, with a fraction or none, and an `s`. In milliseconds. */
function retryAfterOf(details: readonly JsonObject[]): number | undefined {
  for (const { retryDelay } of details) {
    const seconds = typeof retryDelay === 'string' ? /^(\d{1,9}(?:\.\d{1,9})?)s$/.exec(retryDelay)?.[1] : undefined
    if (seconds !== undefined) return Math.ceil(Number(seconds) * 1000)
  }
  return undefined
}
