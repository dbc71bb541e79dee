import type { GatewayError } from '../core/errors.js'
import type { RetryCondition } from '../core/limits.js'

/** An upstream's own refusal in the protocol that the client speaks, fit to be passed on. */
export interface UpstreamAnswer {
  readonly status: number
  /** Flat name, value list of the headers that may pass. */
  readonly headers: readonly string[]
  readonly body: Buffer
}

/** Why an attempt failed before a byte of its answer had reached the client. */
export interface Failure {
  readonly error: GatewayError
  readonly condition: RetryCondition
  /** What the upstream said, where it is fit to be passed on when no other target helps. */
  readonly answer?: UpstreamAnswer
}
