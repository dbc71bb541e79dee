import type { Choice, Exchange } from '../../core/plan.js'
import { unmeant } from '../../core/refusals.js'
import type { Sticky, Strategy } from '../../core/strategy.js'
import { failing, isFor } from '../../core/when.js'
import type { Body } from '../../kernel/body.js'
import type { Call } from '../../kernel/call.js'
import { slot } from '../../kernel/slot.js'
import type { AttemptView, Outcome, Stage } from '../../kernel/stages.js'
import { threadsOf } from '../../kernel/threads.js'
import { viewOf } from '../../kernel/view-of.js'
import { byLosses, type Lost, lossesOf, skippedText } from '../../translate/loss-order.js'
import type { RequestView } from '../../wire/request-view.js'
import { TRIAL } from '../canaries/trial.js'
import { RESERVE, type Reserve } from '../fallbacks/reserve.js'
import { TURN } from '../responses/response-turn.js'
import { ORDERS, type View } from './orders.js'
import type { Target, Targets } from './target.js'

/** An attempt at a target. */
interface Measured {
  readonly target: Target
  readonly started: number
  isMeasured: boolean
}

const MEASURED = slot<Measured>('strategies')
/** What was passed over for what it would drop. */
const SKIPPED = slot<string>('strategies')

/** As canaries have it. */
const BY_CONVERSATION: Sticky = { by: 'sticky', to: 'conversation', prefix: 0 }

/** Strategies that look at what attempts took, or are under way. */
const MEASURING: ReadonlySet<Strategy['by']> = new Set(['least_in_flight', 'fastest', 'sticky'])

/** Orders the targets of models that have a strategy, and measures their attempts. */
export class StrategiesStage implements Stage {
  readonly name = 'strategies'
  readonly #targets: Targets
  readonly #targetOf = (exchange: Exchange): Target => this.#targets.of(exchange)

  constructor(targets: Targets) {
    this.#targets = targets
  }

  narrow(call: Call, candidates: readonly Exchange[], body: Body): readonly Exchange[] {
    const { choice } = call
    if (choice?.routing === undefined) return candidates
    const reserve = call.get(RESERVE)
    const trial = call.get(TRIAL)
    if (reserve === undefined && trial === undefined) return this.own(call, choice, candidates, body)
    const request = viewOf(call, body)
    const tried =
      trial === undefined
        ? []
        : forRequest(
            candidates.filter(one => trial.has(one)),
            request,
          )
    const own = candidates.filter(one => trial?.has(one) !== true && reserve?.has(one) !== true)
    const others = reserve === undefined ? [] : this.inReserve(call, reserve, candidates, request)
    // It may be that only the canary is for such a request.
    const isOnlyTried = tried.length > 0 && forRequest(own, request).length === 0
    const ownOrder = isOnlyTried ? [] : this.own(call, choice, own, body)
    if (trial === undefined) return [...ownOrder, ...others]
    const tryOrder = this.inOrder(call, trial.choice, tried, request)
    return trial.isTried ? [...tryOrder, ...ownOrder, ...others] : [...ownOrder, ...tryOrder, ...others]
  }

  /** The candidates of the call's own model for such a request, as its strategy has them. Throws where none is. */
  private own(call: Call, choice: Choice, candidates: readonly Exchange[], body: Body): readonly Exchange[] {
    const request = viewOf(call, body)
    const meant = choice.routing?.hasConditions === true ? meantFor(candidates, request) : candidates
    return this.inOrder(call, choice, meant, request, all => noteSkipped(call, all, body))
  }

  /** Those of each fallback model as its own strategy has them. */
  private inReserve(
    call: Call,
    reserve: Reserve,
    candidates: readonly Exchange[],
    request: RequestView,
  ): readonly Exchange[] {
    return reserve.fallbacks.flatMap(fallback => {
      const own = candidates.filter(one => reserve.of(one) === fallback)
      return this.inOrder(call, fallback.choice, own, request)
    })
  }

  private inOrder(
    call: Call,
    choice: Choice,
    candidates: readonly Exchange[],
    request: RequestView,
    losses: View['losses'] = all => lossesFor(call, all, call.body),
  ): readonly Exchange[] {
    const { routing } = choice
    const order = routing === undefined || candidates.length < 2 ? undefined : ORDERS[routing.strategy.by]
    if (order === undefined) return candidates
    const { random } = Math
    return order(candidates, { choice, request, now: performance.now(), random, targetOf: this.#targetOf, losses })
  }

  beforeAttempt(attempt: AttemptView): undefined {
    const { call, exchange } = attempt
    noteThread(call)
    const by = choiceOf(call, exchange)?.routing?.strategy.by
    if (by === undefined || !MEASURING.has(by)) return
    const target = this.#targets.of(exchange)
    target.inFlight++
    const measured = { target, started: performance.now(), isMeasured: false }
    attempt.set(MEASURED, measured)
    return undefined
  }

  onContent(attempt: AttemptView): void {
    const measured = attempt.get(MEASURED)
    if (measured === undefined || measured.isMeasured) return
    const now = performance.now()
    measured.isMeasured = true
    measured.target.answered(now - measured.started, attempt.call.stream, now)
  }

  onAnswerHead(call: Call, status: number, headers: string[]): void {
    const skipped = call.get(SKIPPED)
    if (skipped !== undefined && status < 400) headers.push('x-gateway-skipped', skipped)
  }

  afterAttempt(attempt: AttemptView, outcome: Outcome): void {
    const measured = attempt.get(MEASURED)
    if (measured === undefined) return
    const { target, started } = measured
    target.inFlight--
    if (measured.isMeasured || attempt.isFurther) return
    const { phase } = outcome
    const now = performance.now()
    const { stream } = attempt.call
    if (phase === 'ok' || phase === 'accepted') target.answered(now - started, stream, now)
    else if (phase === 'cancelled') target.waited(now - started, stream, now)
    else if (isItsFault(outcome)) target.failed(now - started, stream, now)
  }
}

/** What the response will be called is known only now, behind all stages that narrow. */
function noteThread(call: Call): void {
  const turn = call.get(TURN)
  const { strategy, canary } = call.choice?.routing ?? {}
  if (turn === undefined) return
  const isSticky = strategy?.by === 'sticky' && strategy.to === 'conversation'
  if (!isSticky && canary?.by !== 'conversation') return
  const by = isSticky ? strategy : BY_CONVERSATION
  threadsOf(call).note(call.key, turn.id, viewOf(call, call.body).digest(by))
}

/** What each target would drop; a header names what is passed over for that. `written`: in the order of the file. */
function noteSkipped(call: Call, written: readonly Exchange[], body: Body): ReadonlyMap<Exchange, Lost> {
  const losses = lossesFor(call, written, body)
  call.set(SKIPPED, skippedText(written, byLosses(written, losses)[0], losses))
  return losses
}

function lossesFor(call: Call, candidates: readonly Exchange[], body: Body): ReadonlyMap<Exchange, Lost> {
  const bytes = body.type === 'bytes' ? body.bytes : undefined
  return lossesOf(candidates, bytes, call, call.caller?.strict === true)
}

/** What the model of a candidate stands for: the call's own, a canary's or a fallback's. */
function choiceOf(call: Call, exchange: Exchange): Choice | undefined {
  const trial = call.get(TRIAL)
  if (trial?.has(exchange) === true) return trial.choice
  return call.get(RESERVE)?.of(exchange)?.choice ?? call.choice
}

function forRequest(candidates: readonly Exchange[], request: RequestView): readonly Exchange[] {
  return candidates.filter(one => isFor(one, request))
}

/** Those that are for such requests. Throws where none is. */
function meantFor(candidates: readonly Exchange[], request: RequestView): readonly Exchange[] {
  const meant = forRequest(candidates, request)
  if (meant.length > 0 || candidates.length === 0) return meant
  const cause = candidates.map(({ upstream, when }) => `${upstream.name}: ${when && failing(when, request)}`).join(', ')
  throw unmeant(cause)
}

/** Statuses by which a target refuses what another one may answer well. */
const REFUSALS: ReadonlySet<number> = new Set([401, 402, 403, 404, 408, 429])

/** Whether the target failed, and not the request or the gateway. */
function isItsFault({ phase, status = 0, error }: Outcome): boolean {
  if (phase === 'status') return status >= 500 || REFUSALS.has(status)
  return phase !== 'skipped' && phase !== 'queue' && error?.details.phase !== 'upload'
}
