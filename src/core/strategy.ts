import type { VerbAmounts } from './amounts.js'
import type { FailureCause, FailureRules } from './failure-cause.js'
import type { Hedge, StreamContract } from './limits.js'
import type { When } from './when.js'

/** How a model's first target is chosen. The others follow, so that each is asked when those before it have failed. */
export type Strategy =
  | { readonly by: 'order' | 'weighted' | 'least_in_flight' | 'fastest' | 'cheapest' | 'lossless' }
  | Sticky

/** Requests that have something in common go to one target. */
export interface Sticky {
  readonly by: 'sticky'
  readonly to: 'key' | 'conversation' | 'prefix'
  /** The lower-case header that names the conversation, before what bodies say of it. */
  readonly header?: string
  /** Bytes of the prompt that decide. */
  readonly prefix: number
}

/** Models that are asked instead, by the cause of a failure. */
export type Fallbacks = Readonly<Partial<Record<FailureCause, readonly string[]>>>

/** Sends copies of requests to another model. */
export interface Mirror {
  /** The model whose requests are copied, as the file names it. */
  readonly of: string
  readonly to: string
  /** Over 0, up to 1. */
  readonly share: number
  /** Copies under way at once, in each process. */
  readonly inFlight: number
}

/** Tries a target with a share of the requests of a model. */
export interface Canary {
  /** The model, as the file names it. */
  readonly of: string
  /** The upstream of one of its targets, or another model. */
  readonly to: string
  readonly isTarget: boolean
  /** Over 0, at most 0.9. */
  readonly share: number
  readonly by: 'conversation' | 'key' | 'request'
  /** How long it gets nothing after it has failed more often than the others, milliseconds. */
  readonly rest: number
}

/** What decides among the targets of a model beside their order. */
export interface Routing {
  readonly strategy: Strategy
  /** Whether targets have conditions. */
  readonly hasConditions: boolean
  readonly fallbacks?: Fallbacks
  readonly mirror?: Mirror
  readonly canary?: Canary
}

/** What routing knows of an exchange. */
export interface ExchangeRouting {
  /** The model as the configuration has it: of a glob its pattern; empty where the route names no model. */
  readonly declared: string
  /** How the upstream's errors tell why a request failed. */
  readonly failures?: FailureRules
  /** The requests that it is for. Absent: all. */
  readonly when?: When
  /** Absent: streams may be as slow as the time-outs allow. */
  readonly contract?: StreamContract
  /** Absent: no other target is asked beside it. */
  readonly hedge?: Hedge
  /** Absent: no verb changes what requests ask for, or nothing is counted. */
  readonly adds?: VerbAmounts
}

/** What a model says of how it is routed. */
export interface RoutingConfig {
  /** Absent: `order`. */
  readonly strategy?: Strategy
  readonly fallbacks?: Fallbacks
  readonly mirror?: Mirror
  readonly canary?: Canary
}

const ORDER: Strategy = { by: 'order' }

/** Undefined: nothing but order and weights decides. */
export function routingOf({
  strategy,
  fallbacks,
  mirror,
  canary,
  targets,
}: RoutingConfig & { readonly targets: readonly { readonly when?: When }[] }): Routing | undefined {
  const hasConditions = targets.some(({ when }) => when !== undefined)
  const others = {
    ...(fallbacks !== undefined && { fallbacks }),
    ...(mirror !== undefined && { mirror }),
    ...(canary !== undefined && { canary }),
  }
  if (strategy === undefined && !hasConditions && Object.keys(others).length === 0) return undefined
  return { strategy: strategy ?? ORDER, hasConditions, ...others }
}

/** Strategies that choose among all targets of a model, wherever they are written. */
export function isAmongAll(strategy: Strategy | undefined): boolean {
  return strategy !== undefined && strategy.by !== 'order'
}

const BY_WEIGHT: ReadonlySet<Strategy['by']> = new Set(['order', 'weighted', 'least_in_flight', 'sticky'])

/** Whether weights mean something. */
export function usesWeights({ by }: Strategy): boolean {
  return BY_WEIGHT.has(by)
}
