import type { Exchange, Route } from '../../core/plan.js'
import type { HandshakeExchange } from '../../transport/handshake-exchange.js'
import type { Call } from '../call.js'
import type { GatedAttempt } from '../gated-attempt.js'

/** Where an attempt belongs. */
export interface TunnelContext {
  readonly call: Call
  readonly route: Route
  readonly exchange: Exchange
  /** Lasts as long as the session. */
  readonly gated: GatedAttempt
  readonly client: HandshakeExchange
  /** When the first attempt of the call began. */
  readonly dispatched: number
}
