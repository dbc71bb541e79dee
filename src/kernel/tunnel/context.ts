import type { Duplex } from 'node:stream'
import type { Exchange, Route } from '../../core/plan.js'
import type { Call } from '../call.js'
import type { HandshakeResponse } from './response.js'

/** The client's side of a tunnel that is to be. */
export interface ClientSide {
  readonly socket: Duplex
  readonly response: HandshakeResponse
  /** What came behind the request. */
  readonly head: Buffer
}

/** Where an attempt belongs. */
export interface TunnelContext {
  readonly call: Call
  readonly route: Route
  readonly exchange: Exchange
  readonly client: ClientSide
  /** When the first attempt of the call began. */
  readonly dispatched: number
}
