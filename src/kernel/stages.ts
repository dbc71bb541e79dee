import type { GatewayError } from '../core/errors.js'
import type { Json } from '../core/json.js'
import type { Caller, Exchange, Plan, Route, Usage } from '../core/plan.js'
import type { Body } from './body.js'
import type { Call } from './call.js'
import type { Failure } from './failure.js'
import type { Kernel } from './kernel.js'
import type { Relay, Source } from './relay/relay.js'
import type { UpstreamHeaders } from './response-headers.js'
import type { Slots } from './slot.js'
import type { Tap } from './tap.js'
import type { TaskEnd } from './task-end.js'

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
  /** Before a byte of the body is read: rates, places, ownership of what the path names, `call.limitBody`. */
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
   * The usage of the call so far, each time that of an attempt changes. Sessions report it many times. To end the call, use
   * `call.cut`: what this hook, `afterAttempt` and `onAnswerHead` throw is logged, and changes nothing.
   */
  onUsage?(call: Call, usage: Usage, attempt: AttemptView): void
  /**
   * Once for each attempt that `beforeAttempt` has let pass, in reverse order, however the attempt ends. Its usage is final,
   * and the end of the answer (`beforeEnd`) is still to come; the head of an answer that is sent whole, too.
   */
  afterAttempt?(attempt: AttemptView, outcome: Outcome): void
  /** The last candidate has failed. True: the stage answers the request in another way. */
  onExhausted?(call: Call, failure: Failure, body: Body): boolean

  // The answer, from an upstream or from the gateway.

  /**
   * Every answer: adds to the flat name, value list of its headers. Also the 101 of a tunnel, but not of a socket whose messages
   * are requests of their own.
   */
  onAnswerHead?(call: Call, status: number, headers: string[]): void
  /** The last bytes wait for it. Not called if the client has left. */
  beforeEnd?(call: Call): Maybe<void>

  // The end: what is thrown here is logged, and stops nothing.

  /** Once for each call, in reverse order: gives back what `onRequest` or `admit` took. A slot says whether it did. */
  settle?(call: Call): void
  /** Once for each call, after every `settle`. */
  record?(call: Call): void
}

/** One attempt as stages see it: one object from `beforeAttempt` to `afterAttempt`, with slots for what features know of it. */
export interface AttemptView extends Slots {
  readonly call: Call
  readonly exchange: Exchange
  /** Counts up from 1 in its call; those that a gate refused count, too. */
  readonly number: number
  /** Whether it is one of several calls that one request takes (`n` images of a model that makes one), and not the first. */
  readonly isFurther: boolean
  /** Whether the upstream may have got some of the request. What was not sent costs nothing. */
  readonly isSent: boolean
  /** What the upstream says that this attempt used, so far; final in `afterAttempt`. */
  readonly usage: Usage | undefined
  /**
   * Only of attempts that begin a task: keeps a small value with the task's record, under the feature's name, until the feature
   * has heard of the task's end. `afterAttempt` is the last moment for it.
   */
  keep(feature: string, value: Json): void
}

/** How an attempt ended, and what of its answer the client has got, or is about to get. */
export interface Outcome {
  /**
   * `ok`, `skipped` (it was not made), `cancelled`, `status`, or the phase in which it failed: `connect`, `first_byte`, … With a
   * task: `accepted`, or `unconfirmed` where the upstream may have begun it.
   */
  readonly phase: string
  /** Id of the task that continues after this attempt; {@link Service.onTaskEnd} hears of its end. */
  readonly task: string | undefined
  /** HTTP status of the upstream; undefined if it sent none. */
  readonly status: number | undefined
  /** Why it did not end well. */
  readonly error: GatewayError | undefined
  /** Whether the client's answer had begun. */
  readonly begun: boolean
  /** Bytes of the answer's body, framing included. */
  readonly bytes: number
  /** Events with content of a stream; messages of both sides of a tunnel. */
  readonly events: number
}

/** What a feature may know when the chain of a route is compiled. `route` is absent for paths that no route serves. */
export interface Site {
  readonly kernel: Kernel
  readonly plan: Plan
  readonly route: Route | undefined
}

/** What of a feature lives as long as the process. */
export interface Service {
  /**
   * A task with which the feature keeps something has ended; one process hears of it. Repeated until it resolves, and
   * after a crash in between: what it settles is settled once under {@link TaskEnd.submit}.
   */
  onTaskEnd?(end: TaskEnd): Maybe<void>
  /** A new plan has gone live; its chains have been compiled. Must not throw. */
  adopt?(plan: Plan): void
  /**
   * The process ends: no request is in flight, no attempt and no task is under way, and the store is still open. Waited for
   * some seconds at most.
   */
  close?(): Promise<void>
}

/** A capability of the gateway. Its place in the list of features is its place in every phase. */
export interface Feature<S extends Service = Service> {
  readonly name: string
  /** What it needs once a process, before the first plan is compiled: `compile` gets it each time. */
  open?(kernel: Kernel): S
  /** The feature's stage for a route of a new plan; undefined where the route does not need it, which then costs nothing. */
  compile(site: Site, service: S): Stage | undefined
}
