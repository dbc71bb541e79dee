import type { ErrorCode, Family, GatewayError } from './errors.js'
import type { JsonObject } from './json.js'

const QUOTA = 'insufficient_quota'

/** `error.type` and `error.code` of the compatible family, where they are not `invalid_request_error` and our own code. */
const COMPATIBLE: Partial<Record<ErrorCode, { readonly type?: string; readonly code?: string | null }>> = {
  bad_request: { code: null },
  invalid_parameter: { code: 'invalid_value' },
  unauthenticated: { code: 'invalid_api_key' },
  not_found: { code: null },
  method_not_allowed: { code: 'method_not_supported' },
  conflict: { code: 'idempotency_key_reused' },
  gone: { code: 'expired' },
  rate_limited: { type: 'requests', code: 'rate_limit_exceeded' },
  budget_spent: { code: QUOTA },
}

const MESSAGES: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  409: 'conflict_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  503: 'overloaded_error',
  504: 'timeout_error',
  529: 'overloaded_error',
}

const NATIVE: Readonly<Record<number, string>> = {
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  409: 'ABORTED',
  429: 'RESOURCE_EXHAUSTED',
  499: 'CANCELLED',
  501: 'UNIMPLEMENTED',
  503: 'UNAVAILABLE',
  504: 'DEADLINE_EXCEEDED',
}

/** Names of errors by which clients of `converse` tell them apart, in answers and, with a small first letter, in streams. */
const CONVERSE: Readonly<Record<number, string>> = {
  401: 'AccessDeniedException',
  403: 'AccessDeniedException',
  404: 'ResourceNotFoundException',
  429: 'ThrottlingException',
  503: 'ServiceUnavailableException',
  504: 'ModelTimeoutException',
  529: 'ServiceUnavailableException',
}

/** Protocol-buffer types by their URLs: the family's clients look for them in `details`. */
const RETRY_INFO = 'type.googleapis.com/google.rpc.RetryInfo'
const ERROR_INFO = 'type.googleapis.com/google.rpc.ErrorInfo'

/** Codes of the image-task family: 3 not found, 4 validation, 9 failure, 23 queue full (beside the status). */
const IMAGE_TASKS: Readonly<Record<number, number>> = { 400: 4, 404: 3, 413: 4, 415: 4, 429: 23 }

/**
 * The body of an error in the shape that the family's clients parse. `PROTOCOLS` of each family decide: `{error: {message,
 * type, param, code}}`, `{type: "error", error: {type, message}, request_id}`, `{error: {code, message, status}}` (with an
 * `ErrorInfo` where no key counts, and a `RetryInfo` where the client is to wait, as its clients read no header for that),
 * `{code, description, result}`, `{id, message}`.
 */
export function errorBody(error: GatewayError, family: Family, requestId: string): JsonObject {
  switch (family) {
    case 'compatible':
      return { error: compatibleError(error) }
    case 'messages':
      return {
        type: 'error',
        error: { type: MESSAGES[error.status] ?? generalType(error.status), message: error.message },
        request_id: requestId,
      }
    case 'native':
      return {
        error: {
          code: error.status,
          message: error.message,
          status: NATIVE[error.status] ?? (error.status < 500 ? 'INVALID_ARGUMENT' : 'INTERNAL'),
          ...nativeDetails(error),
        },
      }
    case 'converse':
      return { __type: converseName(error), message: error.message }
    case 'rerank':
      return { id: requestId, message: error.message }
    case 'image-tasks':
      return { code: imageTasksCode(error), description: error.message, result: null }
  }
}

function converseName({ status }: GatewayError): string {
  return CONVERSE[status] ?? (status < 500 ? 'ValidationException' : 'InternalServerException')
}

/** The events that streams of `converse` can end with in place of an answer. */
const STREAM_EXCEPTIONS: ReadonlySet<string> = new Set([
  'throttlingException',
  'validationException',
  'serviceUnavailableException',
])

/** The name of the event by which a stream of `converse` reports an error. */
export function exceptionName(error: GatewayError): string {
  const name = converseName(error)
  const event = name.charAt(0).toLowerCase() + name.slice(1)
  if (STREAM_EXCEPTIONS.has(event)) return event
  return error.status < 500 ? 'validationException' : 'internalServerException'
}

function imageTasksCode({ status, details: { familyCode } }: GatewayError): number {
  return /^\d+$/.test(familyCode ?? '') ? Number(familyCode) : (IMAGE_TASKS[status] ?? 9)
}

function nativeDetails({ code, details: { retryAfter } }: GatewayError): JsonObject {
  if (code === 'unauthenticated')
    return { details: [{ '@type': ERROR_INFO, reason: 'API_KEY_INVALID', domain: 'googleapis.com' }] }
  if (retryAfter === undefined) return {}
  return { details: [{ '@type': RETRY_INFO, retryDelay: `${Math.ceil(retryAfter) / 1000}s` }] }
}

/** The status by which a family's own services say what another family's status says: an overload has two. */
export function familyStatus(status: number, family: Family): number {
  if (status !== 503 && status !== 529) return status
  return family === 'messages' ? 529 : 503
}

/** The inner `error` object of the compatible family, as responses and stream frames carry it. */
export function compatibleError(error: GatewayError): JsonObject {
  const known = COMPATIBLE[error.code]
  const { param = null, familyCode = known?.code === undefined ? error.code : known.code } = error.details
  // Waiting does not help against an exhausted quota: clients recognise it by either member.
  const type = familyCode === QUOTA ? QUOTA : isOfTokens(error) ? 'tokens' : known?.type
  return {
    message: error.message,
    type: type ?? (error.status < 500 ? 'invalid_request_error' : 'server_error'),
    param,
    code: familyCode,
  }
}

function isOfTokens({ code, details }: GatewayError): boolean {
  return code === 'rate_limited' && details.limit === 'tokens'
}

function generalType(status: number): string {
  return status < 500 ? 'invalid_request_error' : 'api_error'
}

/**
 * The last bytes of an event stream that broke: one error event of the family, never a clean end. `responses` streams
 * have typed events; the recorded form of a failure there is `error` (nested and flat fields) and then `response.failed`.
 */
export function streamErrorFrame(
  error: GatewayError,
  shape: Family | 'responses',
  requestId: string,
  started: ResponseStart | undefined,
): string {
  switch (shape) {
    case 'responses':
      return responsesFailure(error, started)
    case 'messages':
      return `event: error\ndata: ${JSON.stringify(errorBody(error, 'messages', requestId))}\n\n`
    default:
      return `data: ${JSON.stringify(errorBody(error, shape, requestId))}\n\n`
  }
}

/** What the stream's first event (`response.created`) said, which a failure has to repeat. */
export interface ResponseStart {
  readonly response: JsonObject
  /** `sequence_number` of the failure's first event. */
  readonly sequence: number
}

function responsesFailure(error: GatewayError, started: ResponseStart | undefined): string {
  const inner = compatibleError(error)
  const sequence = started?.sequence ?? 0
  const event = { type: 'error', sequence_number: sequence, error: inner, ...inner }
  const text = `event: error\ndata: ${JSON.stringify({ ...event, type: 'error' })}\n\n`
  if (started === undefined) return text
  const failed = {
    type: 'response.failed',
    sequence_number: sequence + 1,
    response: { ...started.response, status: 'failed', error: { code: 'server_error', message: error.message } },
  }
  return `${text}event: response.failed\ndata: ${JSON.stringify(failed)}\n\n`
}
