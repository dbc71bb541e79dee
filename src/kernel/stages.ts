import type { InBody } from '../core/admission.js'
import type { Caller } from '../core/caller.js'
import type { GatewayError } from '../core/errors.js'
import type { Json } from '../core/json.js'
import type { Exchange, Plan, Route, Usage } from '../core/plan.js'
import type { ExchangeObserver, UpstreamRequest } from '../net/pools.js'
import type { Values } from '../wire/demand-values.js'
import type { Arrival } from './arrival.js'
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

/** What `identify` returns for a request that is admitted without a key. */
export const NO_KEY = Symbol('no key')

/**
 * A feature's part in the requests of one route. Members are in the order in which they run; within one
 * of them the order of the list of features decides. Functions are created once per route and plan; their state of a request
 * is in slots of its call.
 *
 * A stage ends a request by throwing a `GatewayError`, or by an answer (`call.answer`). The runner then stops,
 * and ignores later results, so no stage checks whether its call has ended.
 */
export interface Stage {
  readonly name: string

  // The request.

  /** The head has arrived; the caller is not known. */
  onRequest?(call: Call): Maybe<void>
  /**
   * Finds the caller, of a handshake too whose messages are requests of their own. Undefined: this stage does not know. The first
   * answer counts. Throws `unauthenticated`.
   */
  identify?(arrival: Arrival): Maybe<Caller | typeof NO_KEY | undefined>
  /** Whether a text is a key for the gateway: no upstream gets a query parameter that is one. */
  isKey?(text: string): boolean
  /** Before a byte of the body is read: rates, places, ownership of what the path names, `call.limitBody`. */
  admit?(call: Call): Maybe<void>
  /**
   * The body has arrived and its model is known: reads its top-level members. `member` has `{}` for a list or an object of a body
   * that was scanned; `whole` has all of it, and is absent for a large body. A body that is passed on has no members.
   */
  onMembers?(call: Call, member: InBody, whole: InBody | undefined): void
  /** The body has arrived and fits its schema. Returns the body for the stages that follow. */
  onBody?(call: Call, body: Body): Maybe<Body>
  /** Where the candidates come from, instead of the route's own: at most one stage of a route. */
  source?(call: Call): Maybe<readonly Exchange[]>
  /** Removes candidates, or changes their order. */
  narrow?(call: Call, candidates: readonly Exchange[], body: Body): Maybe<readonly Exchange[]>
  /** Answers the request instead of an upstream: at most one stage of a route. */
  serve?(call: Call, candidates: readonly Exchange[], body: Body): Maybe<void>

  // One attempt at one candidate.

  /** Before an upstream is called. An error that is returned, not thrown, rejects this candidate only. */
  beforeAttempt?(attempt: AttemptView): Maybe<GatewayError | undefined>
  /**
   * What is sent differs from what `beforeAttempt` knew: media were fetched for it (`withAddedInput`), the request takes several
   * calls (`attempt.calls`), or verbs changed what it asks for (`attempt.sentValues`). Errors as there.
   */
  beforeSend?(attempt: AttemptView): Maybe<GatewayError | undefined>
  /** Last changes of a request's headers, relayed or translated: trace headers. `headers` is a flat name, value list. */
  onUpstreamRequest?(attempt: AttemptView, headers: string[]): void
  /**
   * The request is about to be sent, credential included: what is returned sees the upstream's answer. Also the handshake of a
   * tunnel, of whose session it then sees the messages.
   */
  watches?(attempt: AttemptView, request: UpstreamRequest): ExchangeObserver | undefined
  /** Another body for a candidate that speaks the route's protocol. */
  onUpstreamBody?(call: Call, body: Uint8Array): Uint8Array
  /** A relay of the feature's own for an upstream's answer with a success status. `headers` pass to the client. */
  relay?(source: Source, status: number, headers: string[], from: UpstreamHeaders): Relay | undefined
  /** Whether the answer must be readable: an encoded one is refused. */
  readonly reads?: (call: Call) => boolean
  /** Observes the bytes of a relayed answer as the client gets them. `events`: it is an event stream. */
  observe?(source: Source, events: boolean): readonly Tap[]
  /**
   * Called now and then while the attempt waits for a connection to its upstream and another candidate is left. True: it waits no
   * longer, as if its time limit were over.
   */
  leaves?(attempt: AttemptView): boolean
  /**
   * An answer has begun well. What is returned is asked about the documents of one that ends without content (its JSON, or the data
   * of its events) before any of it is passed on; true: it is a refusal, after which another candidate may be asked. Such an
   * answer is held until it has content, 64 KiB of it at most. The first stage that returns something decides.
   */
  inspects?(attempt: AttemptView): Inspect | undefined
  /**
   * After how many milliseconds without content another candidate is asked beside this one (a hedge), from when it is sent;
   * undefined: never. Of several stages the first that says a time decides. The first answer with content counts.
   */
  patience?(attempt: AttemptView): number | undefined
  /** The first content of an answer has arrived; how the answer ends is still open. Not of refusals, and not of submitted tasks. */
  onContent?(attempt: AttemptView): void
  /**
   * The usage of the call so far, each time that of an attempt changes. Sessions report it many times. To end the call, use
   * `call.cut`: what this hook, `afterAttempt` and `onAnswerHead` throw is logged, and changes nothing.
   */
  onUsage?(call: Call, usage: Usage, attempt: AttemptView): void
  /**
   * Once for each attempt that `beforeAttempt` has admitted, in reverse order, however the attempt ends. Its usage is final,
   * and the end of the answer (`beforeEnd`) is still to come; so is the head of an answer that is sent whole.
   */
  afterAttempt?(attempt: AttemptView, outcome: Outcome): void
  /**
   * The same, for what only counts it or writes it down: after each `afterAttempt`, at the end of the turn of the event loop, when
   * the answer may have been sent. `attempt.ended` says when it ended.
   */
  recordAttempt?(attempt: AttemptView, outcome: Outcome): void
  /**
   * An attempt has failed before a byte of its answer reached the client. Stages change the next step in turn. The first `next`
   * contains the untried candidates and no wait.
   */
  onFailure?(attempt: AttemptView, failure: Failure, next: Next): Next
  /** The last candidate has failed. True: the stage answers the request in another way. */
  onExhausted?(call: Call, failure: Failure, body: Body): boolean

  // The answer, from an upstream or from the gateway.

  /**
   * Every answer: adds to the flat name, value list of its headers. Also the 101 of a tunnel, but not of a socket whose messages
   * are requests of their own.
   */
  onAnswerHead?(call: Call, status: number, headers: string[]): void
  /** Names of headers that it may add to answers, in lower case: pages of other origins may read them. */
  readonly exposes?: readonly string[]
  /** The last bytes are sent after it. Not called if the client has left. */
  beforeEnd?(call: Call): Maybe<void>

  // The end: faults of these are logged, and stop nothing.

  /** Once for each call, in reverse order: releases what `onRequest` or `admit` took. A slot tells whether they did. */
  settle?(call: Call): void
  /**
   * Once for each call, after every `settle`, at the end of the turn of the event loop: what only counts it or writes it down.
   * `call.ended` says when it ended.
   */
  record?(call: Call): void
}

/** Whether an answer refuses the request, by one of its documents. */
export type Inspect = (document: Buffer) => boolean

/** What comes after a failed attempt. */
export interface Next {
  /** The remaining candidates, in order. None: the failure is the answer. */
  readonly left: readonly Exchange[]
  /** Time before the first of them is called, milliseconds. */
  readonly waitMs: number
  /** Attempts made so far, including the failed one; candidates that a gate rejected do not count. */
  readonly tries: number
  /** A stage retries this failure, although `retry.on` does not name it. */
  readonly isWanted?: boolean
  /** Another attempt was under way and has failed since: that failure decides, and what is returned for this one does nothing. */
  readonly isNoted?: boolean
}

/** One attempt as stages see it: one object from `beforeAttempt` to `afterAttempt`, with slots for features' state. */
export interface AttemptView extends Slots {
  readonly call: Call
  readonly exchange: Exchange
  /** Counts from 1 in its call, including attempts that a gate rejected. */
  readonly number: number
  /** Whether it is one of several calls for one request (`n` images of a model that makes one), and not the first. */
  readonly isFurther: boolean
  /**
   * The attempt beside which it is made (a hedge). Its gates do not wait for room: what they refuse or throw ends it alone, and
   * its candidate may be asked later.
   */
  readonly beside: AttemptView | undefined
  /** How many calls the request takes at this target: 1 until `beforeSend` knows another number. */
  readonly calls: number
  /** What is sent at the paths of `exchange.adds`: known in `beforeSend`, of tasks and further calls from the first gate on. */
  readonly sentValues: Values | undefined
  /** Whether the upstream may have received some of the request. If not, it costs nothing. */
  readonly isSent: boolean
  /** Whether the upstream's answer came to its end, also after its client has left: its usage is whole. */
  readonly isWhole: boolean
  /** Its times: a stage that needs them sets an empty object in `beforeAttempt`. */
  times: AttemptTimes | undefined
  /** When it ended, by `performance.now()`: known in `recordAttempt`. */
  readonly ended: number
  /** The usage that the upstream has reported so far; final in `afterAttempt`. */
  readonly usage: Usage | undefined
  /**
   * Only for attempts that begin a task: keeps a small value with the task's record, under the feature's name, until the task's
   * end was reported to the feature. Must be called in `afterAttempt` at the latest.
   */
  keep(feature: string, value: Json): void
}

/** Times of an attempt, by `performance.now()`; 0: not reached, or not part of it. */
export class AttemptTimes {
  /** It began; later, when it asked for a connection. */
  asked = 0
  /** A connection became free, after a wait. */
  placed = 0
  /** The connection is open, and the request begins to be sent. */
  sent = 0
  /** The first content of the answer has arrived. */
  answered = 0
  /** Translating the request began, and was done. */
  translating = 0
  translated = 0
}

/** How an attempt ended, and what of its answer was, or will be, sent to the client. */
export interface Outcome {
  /**
   * `ok`, `skipped` (it was not made), `cancelled`, `status`, or the phase in which it failed: `connect`, `first_byte`, … For
   * tasks: `accepted`, or `unconfirmed` if the upstream may have begun it.
   */
  readonly phase: string
  /** Id of the task that continues after this attempt; its end is reported to {@link Service.onTaskEnd}. */
  readonly task: string | undefined
  /** HTTP status of the upstream; undefined if it sent none. */
  readonly status: number | undefined
  /** Why it failed. */
  readonly error: GatewayError | undefined
  /** Whether the client's answer had begun. */
  readonly begun: boolean
  /** Bytes of the answer's body, including framing. Of a session both are those of answers whose usage was not reported. */
  readonly bytes: number
  /** Events with content of a stream. */
  readonly events: number
}

/** The input of a route's compilation. `route` is absent for paths that no route serves. */
export interface Site {
  readonly kernel: Kernel
  readonly plan: Plan
  readonly route: Route | undefined
}

/** The part of a feature that lives as long as the process. */
export interface Service {
  /**
   * A task on which the feature left a note has ended; reported to one process. Repeated until it resolves, also
   * after a crash: what it settles is settled once under {@link TaskEnd.submit}.
   */
  onTaskEnd?(end: TaskEnd): Maybe<void>
  /** A new plan has gone live; its chains are compiled. Must not throw. */
  adopt?(plan: Plan): void
  /**
   * The process ends: no request, attempt or task is under way, and the store is still open. It has some seconds
   * at most.
   */
  close?(): Promise<void>
}

/** A capability of the gateway. Its place in the list of features is its place in every phase. */
export interface Feature<S extends Service = Service> {
  readonly name: string
  /** Creates its service, once per process, before the first plan is compiled. */
  open?(kernel: Kernel): S
  /** The feature's stage for a route of a new plan; undefined if the route does not need it, which then costs nothing. */
  compile(site: Site, service: S): Stage | undefined
}
