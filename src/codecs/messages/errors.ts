import type { UpstreamError } from '../../core/codec.js'
import { GatewayError } from '../../core/errors.js'
import type { Json, JsonObject } from '../../core/json.js'
import { objectOf, stringOf } from '../read.js'

/** Longest message of an upstream that is passed on, in characters. */
const MAX_MESSAGE_CHARS = 4000

/** Status by `error.type`, for errors that come where there is no status. Others are the upstream's own fault (502). */
const STATUSES: ReadonlyMap<string, number> = new Map([
  ['invalid_request_error', 400],
  ['not_found_error', 404],
  ['request_too_large', 413],
  ['rate_limit_error', 429],
  ['timeout_error', 504],
  ['overloaded_error', 529],
])

/** Codes that clients of other families match, by `error.type`. */
const CODES: ReadonlyMap<string, string> = new Map([
  ['rate_limit_error', 'rate_limit_exceeded'],
  ['authentication_error', 'authentication_error'],
  ['billing_error', 'insufficient_quota'],
])

/** What the service writes where a conversation is longer than the model's window. */
const TOO_LONG = /prompt is too long|exceeds? (?:the )?(?:model's )?(?:maximum )?context/i

/** `messages.0.content.1: …`, `max_tokens: …`: the field at fault, before the first colon. */
const FIELD = /^([a-z_]+(?:\.[a-z0-9_]+){0,16}): /

/** An error that came as a document with status 200, or as an event of a stream. */
export function errorOf(body: JsonObject): GatewayError {
  const error = objectOf(body.error) ?? {}
  const type = stringOf(error.type) ?? ''
  if (type === 'authentication_error' || type === 'permission_error') {
    return new GatewayError('upstream_auth', "The upstream refused the gateway's credential.", {
      phase: 'stream_error',
    })
  }
  const message = stringOf(error.message)?.slice(0, MAX_MESSAGE_CHARS) || 'The upstream failed.'
  const status = STATUSES.get(type)
  if (status === 429) return new GatewayError('rate_limited', message, { phase: 'stream_error' })
  return new GatewayError('upstream_failed', message, {
    phase: 'stream_error',
    ...(status !== undefined && { status }),
  })
}

/** `{type: "error", error: {type, message}, request_id}`. */
export function decodeError(_status: number, body: Json | undefined): UpstreamError {
  const error = objectOf(objectOf(body)?.error)
  const message = stringOf(error?.message)
  const type = stringOf(error?.type) ?? ''
  const param = FIELD.exec(message?.slice(0, 512) ?? '')?.[1]
  const code = codeOf(type, message ?? '')
  return { message, ...(param !== undefined && { param }), ...(code !== undefined && { code }) }
}

function codeOf(type: string, message: string): string | undefined {
  if (type === 'invalid_request_error' && TOO_LONG.test(message.slice(0, 512))) return 'context_length_exceeded'
  if (type === 'not_found_error' && message.startsWith('model:')) return 'model_not_found'
  return CODES.get(type)
}
