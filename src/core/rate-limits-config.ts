/** What rate limits are of. */
export const RATE_LIMITED = ['requests', 'tokens', 'input_tokens', 'output_tokens'] as const
type RateLimited = (typeof RATE_LIMITED)[number]

/** Headers in which a protocol reports rate limits. */
export type RateLimitsConfig = { readonly [Of in RateLimited]?: RateLimitHeaders } & {
  /** How resets are written: as the time until then (`1m30s`), or as the moment (RFC 3339). */
  readonly reset: ResetForm
  /** Globs over all headers that report rate limits, also of those that other protocols do not have. */
  readonly headers: readonly string[]
}

interface RateLimitHeaders {
  readonly limit: string
  readonly remaining: string
  readonly reset: string
}

export type ResetForm = 'duration' | 'time'
