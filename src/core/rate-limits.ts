import type { ResetForm } from './rate-limits-config.js'

/** What becomes of the headers in which an upstream tells of its rate limits. Names in lower case. */
export interface RateLimits {
  /** By the upstream's names: the name in the client's protocol. */
  readonly names: ReadonlyMap<string, RateLimitName>
  /** Headers of the upstream's protocol that mean nothing in the client's. */
  readonly foreign: (name: string) => boolean
}

/** Two headers of a rate limit, names in lower case. */
export interface RateLimitReset {
  readonly remaining: string
  readonly reset: string
  readonly form: ResetForm
}

export interface RateLimitName {
  readonly name: string
  /** How the value is written on either side; absent for plain numbers. */
  readonly reset: { readonly from: ResetForm; readonly to: ResetForm } | undefined
}
