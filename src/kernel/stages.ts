import type { GatewayError } from '../core/errors.js'
import type { Caller, Exchange, Plan, Route, Usage } from '../core/plan.js'
import type { Body } from './body.js'
import type { Call } from './call.js'
import type { Failure } from './failure.js'
import type { Kernel } from './kernel.js'
import type { Relay, Source } from './relay/relay.js'
import type { UpstreamHeaders } from './response-headers.js'
import type { Tap } from './tap.js'

export type Maybe<T> = T | Promise<T>

/** What `identify` returns for a request that is let in without a key. */
export const NO_KEY = Symbol('no key')

/**
 * What a feature adds to the way of the requests of one route. Members are in the order in which they run; within one of
 * them the order of the list of features decides. Functions are made once per route and plan; what they know of a request is
 * in slots of its call.
 *
 * A stage ends a request by throwing a `GatewayError`, or by an answer (`call.answer`). The runner then goes no further,
 * and drops what comes too late, so no stage asks whether its call has ended.
 */
export interface Stage {
  readonly name: string

  // The request.

  /** The head has arrived; the caller is not known. */
  onRequest?(call: Call): Maybe<void>
  /** Who asks. Undefined: this stage does not know. The first answer counts. Throws `unauthenticated`. */
  identify?(call: Call): Maybe<Caller | typeof NO_KEY | undefined>
  /** Before a byte of the body is read: rates, places, ownership of what the path names. */
  admit?(call: Call): Maybe<void>
  /** The body has arrived and fits its schema. Returns the body for the stages that follow. */
  onBody?(call: Call, body: Body): Maybe<Body>
  /** Where the candidates come from, instead of the route's own: at most one stage of a route. */
  source?(call: Call): Maybe<readonly Exchange[]>
  /** Removes candidates, or changes their order. */
  narrow?(call: Call, candidates: readonly Exchange[], body: Body): Maybe<readonly Exchange[]>
  /** Answers the request instead of an upstream: at most one stage of a route. */
  serve?(call: Call, candidates: readonly Exchange[], body: Body): Maybe<void>

  // One attempt at one candidate.

  /** Before an upstream is asked. An error that is returned, not thrown, gives up this candidate alone. */
  beforeAttempt?(attempt: AttemptView): Maybe<GatewayError | undefined>
  /** The last look at the headers of a request, relayed or translated: trace headers. `headers` is a flat name, value list. */
  onUpstreamRequest?(call: Call, candidate: Exchange, headers: string[]): void
  /** Another body for a candidate that speaks the route's protocol. */
  onUpstreamBody?(call: Call, body: Uint8Array): Uint8Array
  /** A relay of the feature's own for an answer that an upstream has begun well. `headers` pass to the client. */
  relay?(source: Source, status: number, headers: string[], from: UpstreamHeaders): Relay | undefined
  /** Whether the answer must be readable: one in an encoding is refused. */
  readonly reads?: (call: Call) => boolean
  /** Observes the bytes of a relayed answer as the client gets them. `events`: it is an event stream. */
  observe?(source: Source, events: boolean): Tap | undefined
  /**
   * The usage of the call so far, each time it changes. Sessions report it many times. To end the call, use `call.cut`: what
   * this hook, `afterAttempt` and `onAnswerHead` throw is logged, and changes nothing.
   */
  onUsage?(call: Call, usage: Usage): void
  /** Once for each attempt that `beforeAttempt` has let pass, in reverse order, however the attempt ends. */
  afterAttempt?(attempt: AttemptView, outcome: Outcome): void
  /** The last candidate has failed. True: the stage answers the request in another way. */
  onExhausted?(call: Call, failure: Failure, body: Body): boolean

  // The answer, from an upstream or from the gateway.

  /** Every answer but the 101 of a WebSocket: adds to the flat name, value list of its headers. */
  onAnswerHead?(call: Call, status: number, headers: string[]): void
  /** The last bytes wait for it. Not called if the client has left. */
  beforeEnd?(call: Call): Maybe<void>

  // The end: what is thrown here is logged, and stops nothing.

  /** Once for each call, in reverse order: gives back what `onRequest` or `admit` took. A slot says whether it did. */
  settle?(call: Call): void
  /** Once for each call, after every `settle`. */
  record?(call: Call): void
}

/** One attempt as stages see it. */
export interface AttemptView {
  readonly call: Call
  readonly exchange: Exchange
}

/** How an attempt ended: `ok`, `cancelled`, a phase (`connect`, `first_byte`, …) or `status`. */
export interface Outcome {
  readonly phase: string
  /** HTTP status of the upstream; undefined if it sent none. */
  readonly status: number | undefined
}

/** What a feature may know when the chain of a route is compiled. `route` is absent for paths that no route serves. */
export interface Site {
  readonly kernel: Kernel
  readonly plan: Plan
  readonly route: Route | undefined
}

/** A capability of the gateway. Its place in the list of features is its place in every phase. */
export interface Feature {
  readonly name: string
  /** The feature's stage for a route of a new plan; undefined where the route does not need it, which then costs nothing. */
  compile(site: Site): Stage | undefined
}
