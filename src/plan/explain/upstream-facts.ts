import type { Traits } from '../../core/codec.js'
import type { Config } from '../../core/config.js'
import type { Upstream } from '../../core/plan.js'
import { type EgressFacts, egressFacts } from './egress-facts.js'
import { headerLines } from './format.js'
import { limitFacts } from './limit-facts.js'
import { recordingsFact } from './record-fact.js'

export interface UpstreamFacts extends EgressFacts {
  readonly name: string
  readonly kind?: string
  readonly off?: string
  /** Only of those that are on. */
  readonly base?: string
  readonly region?: string
  /** What answers in its place: `/data/recordings, match strict`. */
  readonly recordings?: string
  /** What goes with every request, `name: value`, secrets masked. */
  readonly headers: readonly string[]
  readonly speaks: readonly string[]
  /** The declared traits of its models. */
  readonly traits: Traits
  readonly bounds?: readonly string[]
}

export function upstreamFacts(upstream: Upstream, { upstreams }: Config): UpstreamFacts {
  const { name, kind, off, shownHeaders, region, recordings } = upstream
  const { base, speaks = {}, traits = {}, limits, egress } = upstreams[name] ?? {}
  return {
    name,
    ...(kind === undefined ? {} : { kind }),
    ...(off === undefined ? {} : { off }),
    ...(off !== undefined || base === undefined ? {} : { base }),
    ...(region === undefined ? {} : { region }),
    ...(recordings === undefined ? {} : { recordings: recordingsFact(recordings) }),
    headers: headerLines(shownHeaders),
    speaks: Object.keys(speaks),
    traits,
    ...{ ...limitFacts(limits), ...egressFacts(egress) },
  }
}
