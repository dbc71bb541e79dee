import type { GatewayError } from '../../core/errors.js'
import type { RetryCondition } from '../../core/limits.js'
import type { Exchange, Route, Usage } from '../../core/plan.js'
import type { Call } from '../call.js'
import type { UpstreamAnswer } from '../failure.js'

/**
 * Bytes of a stream that are decoded before the client is looked at again. A read of 64 KiB can hold thousands of events
 * that become five times as much for another protocol: a client that is slower than the upstream would have all of it
 * waiting. Most events come alone and are shorter.
 */
export const STEP_BYTES = 4 * 1024

/** The way of one answer from upstream to client. */
export interface Relay {
  /** Bytes that it is given at most at a time, where more may become of them; see {@link STEP_BYTES}. */
  readonly step?: number | undefined
  data(chunk: Buffer): void
  /** The upstream's transfer ended in good order. */
  end(): void
  /** The upstream broke off or went silent. True if the client already has part of the answer and got an error in it. */
  broken(error: GatewayError): boolean
  /** Records the known usage; called before an attempt is abandoned. */
  settle(): void
}

/** What a relay needs of the attempt whose answer it passes on. */
export interface Source {
  readonly call: Call
  readonly route: Route
  readonly exchange: Exchange
  /** Whether another target is left, should this one fail before anything has reached the client. */
  readonly mayYield: boolean
  /** The client has gone, and the answer is read for its usage alone: what is written goes nowhere. */
  readonly isDraining: boolean
  /** What the upstream says that this attempt used, so far. */
  usage: Usage | undefined
  /** Content arrived: restarts the idle time-out. Comments and pings do not count. */
  content(): void
  /** Holds the upstream back until {@link resume}. */
  pause(): void
  readonly resume: () => void
  /** Sends bytes to the client; holds the upstream back while the client is slower. */
  write(bytes: Uint8Array): void
  /**
   * The client's answer is complete, and the usage known; where the upstream's transfer is not, it has a moment left to end by
   * itself. `whole`: bytes of an answer that is sent in one piece after this.
   */
  complete(upstreamEnded: boolean, whole?: number): void
  /** Nothing has reached the client: another target may be tried. */
  failed(condition: RetryCondition, error: GatewayError, answer?: UpstreamAnswer): void
  /** The client has part of an answer that cannot be completed: the relay has said so as well as its form allows. */
  brokeOff(error: GatewayError): void
}
