import type { UpstreamError } from '../core/codec.js'
import { GatewayError } from '../core/errors.js'
import { isObject, type Json, type JsonObject } from '../core/json.js'
import { arrayOf, numberOf, objectOf, stringOf } from './read.js'

/** Longest message of an upstream that is passed on, in characters. */
const MAX_MESSAGE_CHARS = 4000

/** How servers without codes say that a request does not fit into the model. */
const TOO_LONG =
  /maximum context length|exceeds? (?:the |this )?(?:model's )?(?:available |maximum )?context (?:size|length|window)/i
/** Characters of a message that are looked at for that. */
const MAX_READ_CHARS = 512

/**
 * What a refusal says: `{error: {message, param, code}}`, and the shapes of other servers: `{error: text}`, `{message}`,
 * `{detail}`, any of them in an array of one. Never throws.
 */
export function decodeError(_status: number, body: Json | undefined): UpstreamError {
  const document = objectOf(Array.isArray(body) ? (body as readonly Json[])[0] : body)
  if (document === undefined) return { message: undefined }
  const inner = objectOf(document.error) ?? document
  const { param } = inner
  const message = messageOf(document)
  const isTooLong = TOO_LONG.test(message?.slice(0, MAX_READ_CHARS) ?? '')
  const code = codeOf(inner) ?? codeOf(document) ?? (isTooLong ? 'context_length_exceeded' : undefined)
  return {
    message,
    ...(typeof param === 'string' && { param: param.slice(0, 200) }),
    ...(code !== undefined && { code }),
  }
}

/** Codes that clients match are words; numbers repeat the status. */
function codeOf({ code }: JsonObject): string | undefined {
  return typeof code === 'string' && /^[a-z][\w.-]{1,80}$/i.test(code) ? code : undefined
}

function messageOf(document: JsonObject): string | undefined {
  const inner = document.error
  if (typeof inner === 'string') return inner.slice(0, MAX_MESSAGE_CHARS)
  const error = objectOf(inner) ?? document
  const text = stringOf(error.message) ?? stringOf(error.detail) ?? firstDetail(error.detail)
  return text?.slice(0, MAX_MESSAGE_CHARS)
}

/** Validation faults: `detail: [{msg, loc}]`. */
function firstDetail(detail: Json | undefined): string | undefined {
  const [first] = arrayOf(detail)
  return isObject(first) ? stringOf(first.msg) : undefined
}

/** The error that is in a chunk, or in an answer with status 200. */
export function errorInside(document: JsonObject, phase: string): GatewayError {
  const inner = objectOf(document.error) ?? document
  const { message = 'The upstream failed during its answer.', code, param } = decodeError(200, document)
  const status = [inner.status_code, inner.status, inner.code].map(numberOf).find(isStatus)
  const details = {
    phase,
    ...(param !== undefined && { param }),
    ...(code !== undefined && { familyCode: code }),
  }
  if (status === 429 || code === 'rate_limit_exceeded') return new GatewayError('rate_limited', message, details)
  // Whether the gateway's own credential is good is not a business of the client's.
  const shown = status === undefined || status === 401 || status === 403 ? {} : { status }
  return new GatewayError('upstream_failed', message, { ...details, ...shown })
}

function isStatus(value: number | undefined): value is number {
  return value !== undefined && Number.isInteger(value) && value >= 400 && value < 600
}
