import type { Exchange, Route } from '../../core/plan.js'
import type { Call } from '../../kernel/call.js'
import type { GatedAttempt } from '../../kernel/gated-attempt.js'
import type { SessionObserver } from '../../net/pools.js'
import type { HandshakeExchange } from '../../transport/handshake-exchange.js'

/** What an attempt belongs to. */
export interface TunnelContext {
  readonly call: Call
  readonly route: Route
  readonly exchange: Exchange
  /** Ends with the session. */
  readonly gated: GatedAttempt
  readonly client: HandshakeExchange
  /** When the first attempt of the call began. */
  readonly dispatched: number
}

/** What a session belongs to. */
export interface SessionContext extends TunnelContext {
  /** Absent: no stage looks on. */
  readonly observer: SessionObserver | undefined
}
