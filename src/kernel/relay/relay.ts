import type { GatewayError } from '../../core/errors.js'
import type { RetryCondition } from '../../core/limits.js'
import type { Exchange, Route, Usage } from '../../core/plan.js'
import type { Call } from '../call.js'
import type { UpstreamAnswer } from '../failure.js'

/**
 * Bytes of a stream that are decoded before the client's progress is checked again. A read of 64 KiB can contain thousands
 * of events that become five times as large in another protocol, and all of it would wait for a slow client.
 * Most events arrive alone and are shorter.
 */
export const STEP_BYTES = 4 * 1024

/** Passes one answer from the upstream to the client. */
export interface Relay {
  /** Most bytes per call of `data`, if they may become more; see {@link STEP_BYTES}. */
  readonly step?: number | undefined
  data(chunk: Buffer): void
  /** The upstream's transfer ended properly. */
  end(): void
  /** The upstream broke off or stopped sending. True if the client has part of the answer and got an error in it. */
  broken(error: GatewayError): boolean
  /** Records the known usage; called before an attempt is abandoned. */
  settle(): void
}

/** The attempt whose answer a relay passes on. */
export interface Source {
  readonly call: Call
  readonly route: Route
  readonly exchange: Exchange
  /** Whether another target is left if this one fails before anything was sent to the client. */
  readonly mayYield: boolean
  /** The client has gone, and the answer is read for its usage only: writes have no effect. */
  readonly isDraining: boolean
  /** The usage that the upstream has reported for this attempt so far. */
  usage: Usage | undefined
  /** Content arrived: restarts the idle time-out. Comments and pings do not count. */
  content(): void
  /** Pauses the upstream until {@link resume}. */
  pause(): void
  readonly resume: () => void
  /** Sends bytes to the client; pauses the upstream while the client is slower. */
  write(bytes: Uint8Array): void
  /**
   * The client's answer is complete, and the usage known; if the upstream's transfer has not ended, it has a moment to end by
   * itself. `whole`: bytes of an answer that is sent in one piece after this.
   */
  complete(upstreamEnded: boolean, whole?: number): void
  /** Nothing was sent to the client: another target may be tried. `said`: the upstream's error, for stages only. */
  failed(condition: RetryCondition, error: GatewayError, answer?: UpstreamAnswer, said?: Buffer | string): void
  /** The client has part of an answer that cannot be completed; the relay has reported that as well as its form allows. */
  brokeOff(error: GatewayError): void
}
