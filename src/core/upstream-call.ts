import type { HealthRule, ProbeConfig } from './health.js'
import type { Params } from './params.js'

export interface Call {
  readonly method: string
  /** Path and query on the upstream, base prefix and query credential included; values are percent-encoded. */
  target(variables: Params): string
  /** The call as written, for tables and `explain`. */
  readonly text: string
  /** The target has its whole query: nothing of the client's goes behind it. */
  readonly whole?: true
}

/** A request of the gateway's own. */
export interface CheapestCall {
  readonly call: Call
  readonly body: Buffer | null
}

/** It is made again and again; durations in milliseconds. */
export interface UpstreamProbe extends CheapestCall, Pick<ProbeConfig, 'every' | 'timeout'> {
  readonly rule: HealthRule
}
