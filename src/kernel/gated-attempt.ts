import type { GatewayError } from '../core/errors.js'
import type { Json } from '../core/json.js'
import type { Exchange, Usage } from '../core/plan.js'
import type { UpstreamRequest } from '../net/pools.js'
import type { Values } from '../wire/demand-values.js'
import type { AttemptUsage } from './attempt-usage.js'
import type { Call } from './call.js'
import { chainOf } from './chain.js'
import type { Ended } from './records.js'
import { Slots } from './slot.js'
import type { AttemptTimes, AttemptView, Inspect, Maybe, Outcome } from './stages.js'
import type { TaskNotes } from './task-end.js'

const NOTHING_SENT = { bytes: 0, events: 0, begun: false }

/** Largest value that a feature keeps with a task, characters of JSON: a key in a hundred groups, all with six budgets, has half of it. */
const MAX_NOTE_CHARS = 65_536

/**
 * One attempt as stages know it, from the gates (`beforeAttempt`) that it has to pass to its end: those that it has passed
 * hear of that, once and in reverse order. It also holds what the attempt used, of which the call's usage is the sum.
 */
export class GatedAttempt extends Slots implements AttemptView, AttemptUsage, Ended {
  readonly call: Call
  readonly exchange: Exchange
  readonly isFurther: boolean
  readonly beside: GatedAttempt | undefined
  readonly before: AttemptUsage | undefined
  readonly number: number
  isSent = false
  isWhole = false
  times: AttemptTimes | undefined
  ended = 0
  calls = 1
  /** Of a session that reports its usage: what of its answers has passed since the last report. */
  unreported: { readonly bytes: number; readonly events: number } | undefined
  sentValues: Values | undefined
  /** What features keep with the task that it begins, by their names. */
  notes: TaskNotes | undefined
  #usage: Usage | undefined
  #passed = 0
  #open = true
  #outcome: Outcome | undefined

  /** `isFurther`: it is one of several calls that one request takes, and not the first. `beside`: it is a hedge. */
  constructor(call: Call, exchange: Exchange, isFurther = false, beside?: GatedAttempt) {
    super()
    this.call = call
    this.exchange = exchange
    this.isFurther = isFurther
    this.beside = beside
    this.before = call.lastAttempt
    this.number = (this.before?.number ?? 0) + 1
    call.lastAttempt = this
  }

  get isOver(): boolean {
    return !this.#open
  }

  get usage(): Usage | undefined {
    return this.#usage
  }

  set usage(usage: Usage | undefined) {
    if (usage === this.#usage) return
    this.#usage = usage
    const { onUsage } = chainOf(this.call)
    if (onUsage.length === 0 || usage === undefined) return
    const sum = this.call.usage ?? usage
    for (const hook of onUsage) hook(this.call, sum, this)
  }

  /** Whether a stage does not want it to wait for its connection any longer. */
  get leaves(): boolean {
    return chainOf(this.call).leaves.some(leaves => leaves(this))
  }

  /** When another target is asked beside it, if it is sent now, by `performance.now()`. */
  get hedgeAt(): number {
    for (const patience of chainOf(this.call).patience) {
      const milliseconds = patience(this)
      if (milliseconds !== undefined) return performance.now() + milliseconds
    }
    return Number.POSITIVE_INFINITY
  }

  /** A connection has come free, after a wait. */
  placed(): void {
    if (this.times !== undefined) this.times.placed = performance.now()
  }

  translating(): void {
    if (this.times !== undefined) this.times.translating = performance.now()
  }

  /** The translated request is ready to be sent. */
  translated(): void {
    if (this.times !== undefined) this.times.translated = performance.now()
  }

  /** The request begins to be sent. `asked`: when a connection was asked for. */
  sent(asked: number): void {
    this.isSent = true
    if (this.times === undefined) return
    this.times.asked = asked
    this.times.sent = performance.now()
  }

  /** The request, with the first observer that a stage has for its exchange. */
  watched(request: UpstreamRequest): UpstreamRequest {
    for (const watches of chainOf(this.call).watches) {
      const observer = watches(this, request)
      if (observer !== undefined) return { ...request, observer }
    }
    return request
  }

  /** What a stage wants to see of its answer before any of it is passed on. */
  get inspect(): Inspect | undefined {
    for (const inspects of chainOf(this.call).inspects) {
      const inspect = inspects(this)
      if (inspect !== undefined) return inspect
    }
    return undefined
  }

  /** The first content of its answer has come. */
  answered(): void {
    if (this.times !== undefined) this.times.answered = performance.now()
    for (const hook of chainOf(this.call).onContent) hook(this)
  }

  keep(feature: string, value: Json): void {
    if (JSON.stringify(value).length > MAX_NOTE_CHARS) throw new Error(`${feature} keeps too much with a task`)
    this.notes = { ...this.notes, [feature]: value }
  }

  /**
   * Leads the attempt through its gates: `ask` once it has passed all, `skip` with the error of the first that rejects it, neither
   * if it has ended meanwhile. What a gate or one of these throws goes to `fail`. Waits only if a gate does.
   */
  pass(
    ask: () => void,
    skip: (rejection: GatewayError) => void,
    fail: (cause: unknown) => void = cause => this.call.fail(cause),
  ): void {
    const go = (rejection: GatewayError | 'over' | undefined): void => {
      if (rejection === undefined) ask()
      else if (rejection !== 'over') skip(rejection)
    }
    try {
      const rejection = this.enter()
      if (rejection instanceof Promise) rejection.then(go).catch(fail)
      else go(rejection)
    } catch (cause) {
      fail(cause)
    }
  }

  /**
   * Asks the gates in turn. The error of the first that rejects it: for those before it the attempt has ended then. `over`: it has
   * ended while a gate was deciding.
   */
  enter(): Maybe<GatewayError | 'over' | undefined> {
    const { pairs } = chainOf(this.call)
    while (this.#passed < pairs.length) {
      const decision = pairs[this.#passed]?.beforeAttempt?.(this)
      if (decision instanceof Promise) return decision.then(rejection => this.#decided(rejection) ?? this.enter())
      const rejection = this.#decided(decision)
      if (rejection !== undefined) return rejection
    }
    return undefined
  }

  /** What is sent is known: asks the stages that it has passed once more. The error of the first that rejects it ends the attempt. */
  beforeSend(from = 0): Maybe<GatewayError | undefined> {
    const { pairs } = chainOf(this.call)
    for (let at = from; at < this.#passed; at++) {
      const decision = pairs[at]?.beforeSend?.(this)
      if (decision instanceof Promise)
        return decision.then(rejection => this.#rejection(rejection) ?? this.beforeSend(at + 1))
      if (decision !== undefined) return this.#rejection(decision)
    }
    return undefined
  }

  #rejection(rejection: GatewayError | undefined): GatewayError | undefined {
    if (rejection !== undefined) this.end('skipped', undefined, rejection)
    return rejection
  }

  #decided(rejection: GatewayError | undefined): GatewayError | 'over' | undefined {
    if (!this.#open) {
      // It gives back what it took too late. What the client has got is another one's.
      const outcome = {
        phase: 'cancelled',
        status: undefined,
        error: this.call.error,
        task: undefined,
        ...NOTHING_SENT,
      }
      if (rejection === undefined) {
        this.#tell(this.#passed, outcome)
        this.#recordAt(this.#passed, outcome)
      }
      return 'over'
    }
    if (rejection === undefined) this.#passed++
    else this.end('skipped', undefined, rejection)
    return rejection
  }

  /**
   * Its usage is known and nothing more comes of it. Without effect the second time. `whole`: bytes of an answer that is sent in
   * one piece from now on. `task`: the one that continues after it.
   */
  end(phase: string, status?: number, error?: GatewayError, whole = 0, task?: string): void {
    if (!this.#open) return
    this.#open = false
    this.ended = performance.now()
    if (this.#passed === 0) return
    const outcome = this.#outcomeOf(phase, status, error, whole, task)
    for (let at = this.#passed - 1; at >= 0; at--) this.#tell(at, outcome)
    if (!chainOf(this.call).recordsAttempts) return
    this.#outcome = outcome
    this.call.kernel.records.addAttempt(this)
  }

  /** At the end of the turn in which it ended. */
  record(): void {
    const outcome = this.#outcome
    if (outcome !== undefined) for (let at = this.#passed - 1; at >= 0; at--) this.#recordAt(at, outcome)
  }

  #tell(at: number, outcome: Outcome): void {
    chainOf(this.call).pairs[at]?.afterAttempt?.(this, outcome)
  }

  #recordAt(at: number, outcome: Outcome): void {
    chainOf(this.call).pairs[at]?.recordAttempt?.(this, outcome)
  }

  #outcomeOf(phase: string, status?: number, error?: GatewayError, whole = 0, task?: string): Outcome {
    const { begun, tally } = this.call
    const { bytes, events } = this.unreported ?? { bytes: tally.bytesOut + whole, events: tally.events }
    // What has been sent is the first call's doing, where a request takes several.
    if (this.isFurther) return { phase, status, error, task, ...NOTHING_SENT }
    return { phase, status, error, task, bytes, events, begun: begun || whole > 0 }
  }
}
