import type { GatewayError } from '../core/errors.js'
import type { RetryCondition } from '../core/limits.js'

/** An upstream's refusal in the client's protocol, safe to pass on. */
export interface UpstreamAnswer {
  readonly status: number
  /** Flat name, value list of headers that may pass. */
  readonly headers: readonly string[]
  readonly body: Buffer
}

/** Why an attempt failed before a byte of its answer was sent to the client. */
export interface Failure {
  readonly error: GatewayError
  readonly condition: RetryCondition
  /** The upstream's answer, if it may be passed on when no other target helps. */
  readonly answer?: UpstreamAnswer
  /** The upstream's words, for stages only: at most 64 KiB, and not safe for clients. */
  readonly said?: Buffer | string
}
