/** Families of error bodies; a route names the one that its clients expect. @testonly */
export const FAMILIES = ['compatible', 'messages', 'native', 'image-tasks', 'rerank', 'converse'] as const
export type Family = (typeof FAMILIES)[number]

/** May another attempt help? `next-target`: this gateway may try another target before the first byte. */
type Retryable = 'never' | 'next-target' | 'later'

interface CodeFacts {
  readonly status: number
  readonly retry: Retryable
  readonly meaning: string
}

/**
 * Every error that a client can see, with its default status. `docs/errors.md` is generated from this table; clients
 * match codes, never messages.
 */
export const ERROR_CODES = {
  bad_request: {
    status: 400,
    retry: 'never',
    meaning: 'The request is malformed: not JSON, a wrong header, a refused URL.',
  },
  invalid_parameter: {
    status: 400,
    retry: 'never',
    meaning: 'A field of the request does not fit the schema of the route; the message names it.',
  },
  duplicate_parameter: {
    status: 400,
    retry: 'never',
    meaning: 'A control field (such as model or stream) occurs twice in the body.',
  },
  untranslatable: {
    status: 400,
    retry: 'never',
    meaning:
      "The model's upstream speaks another protocol that cannot express this field, and dropping the field is not allowed.",
  },
  unauthenticated: {
    status: 401,
    retry: 'never',
    meaning: 'The key is missing, unknown, expired or disabled. All get the same answer.',
  },
  forbidden: {
    status: 403,
    retry: 'never',
    meaning:
      'The key may not use this route, or not from this address, or its budget does not cover what has no price.',
  },
  refused: {
    status: 403,
    retry: 'never',
    meaning:
      "A check of the operator's refused the request; the message is its reason. The check may choose another 4xx.",
  },
  not_found: { status: 404, retry: 'never', meaning: 'No route has this path.' },
  model_not_found: {
    status: 404,
    retry: 'never',
    meaning: 'The model does not exist, or the key may not use it. Both get the same answer.',
  },
  model_not_supported: {
    status: 404,
    retry: 'never',
    meaning: 'The model exists and the key may use it, but not with this operation; the message names those that work.',
  },
  method_not_allowed: {
    status: 405,
    retry: 'never',
    meaning: 'The path is served, but not with this method; see the Allow header.',
  },
  request_timeout: { status: 408, retry: 'later', meaning: 'The client did not send its request in time.' },
  not_ready: {
    status: 409,
    retry: 'later',
    meaning: 'The task has not ended yet; Retry-After says when to ask again.',
  },
  conflict: {
    status: 409,
    retry: 'never',
    meaning:
      'The idempotency key was used with another request, or its first request is still running (with Retry-After).',
  },
  gone: { status: 410, retry: 'never', meaning: 'The result of the task is no longer kept.' },
  too_large: { status: 413, retry: 'never', meaning: 'The request body is over the limit.' },
  url_too_long: { status: 414, retry: 'never', meaning: 'The request target is over the limit.' },
  unsupported_media_type: {
    status: 415,
    retry: 'never',
    meaning: 'The route does not accept this content type or content encoding.',
  },
  expectation_failed: { status: 417, retry: 'never', meaning: 'The Expect header is not 100-continue.' },
  upgrade_required: {
    status: 426,
    retry: 'never',
    meaning: 'The path needs a WebSocket handshake or another method; a plain GET is not served.',
  },
  headers_too_large: {
    status: 431,
    retry: 'never',
    meaning: 'The request headers are over the limit, in bytes or in number.',
  },
  upstream_rejected: {
    status: 400,
    retry: 'never',
    meaning: 'The upstream refused the request with a 4xx of its own; its message is passed on.',
  },
  rate_limited: {
    status: 429,
    retry: 'next-target',
    meaning:
      'The upstream limits the rate, or a limit of the key, its group, the model or the upstream is reached; Retry-After says how long to wait.',
  },
  budget_spent: {
    status: 429,
    retry: 'never',
    meaning: 'The budget of the key or of its group does not cover the request. Message blocks have status 402.',
  },
  client_gone: { status: 499, retry: 'never', meaning: 'The client disconnected. Only in logs.' },
  internal: { status: 500, retry: 'never', meaning: 'A bug in the gateway.' },
  upstream_failed: { status: 502, retry: 'next-target', meaning: 'The upstream answered with a server error.' },
  upstream_unavailable: {
    status: 502,
    retry: 'next-target',
    meaning: 'The upstream could not be reached, or the connection broke before the first byte.',
  },
  upstream_auth: {
    status: 502,
    retry: 'never',
    meaning: "The upstream refused the gateway's credential. The caller's key is not the reason.",
  },
  bad_upstream_response: {
    status: 502,
    retry: 'next-target',
    meaning: "The upstream's answer violates its protocol.",
  },
  upstream_truncated: { status: 502, retry: 'never', meaning: "The upstream's answer ended early." },
  unavailable: { status: 503, retry: 'later', meaning: 'The gateway is draining or cannot take this request now.' },
  upstream_timeout: {
    status: 504,
    retry: 'next-target',
    meaning: 'The upstream did not connect, start its answer or continue it in time.',
  },
} as const satisfies Record<string, CodeFacts>

export type ErrorCode = keyof typeof ERROR_CODES

export interface ErrorDetails {
  /** Another status than the code's default (an upstream's own 4xx, a family's own habit). */
  readonly status?: number
  /** The field or header at fault, as the client wrote it: `messages[3].role`. */
  readonly param?: string | undefined
  /** Which rule the request breaks, for the log: `required`, `type`, `duplicate`, `syntax`, … */
  readonly rule?: string | undefined
  /** Milliseconds to wait before another attempt. */
  readonly retryAfter?: number | undefined
  /** Further headers of the answer: flat name, value list. */
  readonly headers?: readonly string[]
  /** Methods that the path does answer, for 405. */
  readonly allow?: readonly string[]
  /** What went wrong inside, for the log only; never shown to a client. */
  readonly cause?: unknown
  /** Which phase of the exchange failed (`connect`, `first_byte`, …), for the log. */
  readonly phase?: string
  /** Which written limit was met (`body`, `event`, …), for the log. */
  readonly limit?: string
  /** A more exact code of the family, as its clients match it (`model_not_found` is the default for itself). */
  readonly familyCode?: string | null
}

/** The one error type that reaches a client. Its message is shown as it is, so it never holds a secret or an address. */
export class GatewayError extends Error {
  override readonly name = 'GatewayError'
  readonly code: ErrorCode
  readonly status: number
  readonly details: ErrorDetails

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause })
    this.code = code
    this.status = details.status ?? ERROR_CODES[code].status
    this.details = details
  }
}
