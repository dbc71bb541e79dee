import { FAILURE_CAUSES, type FailureCause, OF_REQUEST } from '../../core/failure-cause.js'
import type { Exchange, Route } from '../../core/plan.js'
import { ruleUsed } from '../../core/rule-watch.js'
import { tookNothing } from '../../core/task.js'
import { isFor } from '../../core/when.js'
import type { Call } from '../../kernel/call.js'
import type { Failure } from '../../kernel/failure.js'
import { order } from '../../kernel/resolve.js'
import { slot } from '../../kernel/slot.js'
import type { AttemptView, Next, Stage } from '../../kernel/stages.js'
import { viewOf } from '../../kernel/view-of.js'
import { causeOfFailure, isContentRefused } from './cause.js'
import { RESERVE, Reserve } from './reserve.js'

/** Candidates of other models that the call may use, after all stages have looked at them. */
const HELD = slot<readonly Exchange[]>('fallbacks')
/** Causes that have led elsewhere: each does once. */
const FOLLOWED = slot<ReadonlySet<FailureCause>>('fallbacks')

/** Adds the targets of fallback models for the stages that narrow, and leads failures to them by their cause. */
export function fallbacksStage(route: Route): Stage {
  return {
    name: 'fallbacks',
    narrow(call, candidates) {
      const reserve = reserveOf(call, route, candidates)
      if (reserve === undefined) return candidates
      call.set(RESERVE, reserve)
      return [...candidates, ...reserve.exchanges]
    },
    inspects: attempt =>
      leadsFromRefusal(attempt) ? document => isContentRefused(attempt.exchange, document) : undefined,
    onFailure: (attempt, failure, next) => led(route, attempt, failure, next),
  }
}

/** Takes those targets out again: they are asked only where a failure leads to them. */
export const heldBackStage: Stage = {
  name: 'held_back',
  narrow(call, candidates) {
    const reserve = call.get(RESERVE)
    if (reserve === undefined) return candidates
    const own = candidates.filter(one => !reserve.has(one))
    // Only a fallback has what the request names.
    if (own.length === 0) return candidates
    call.set(
      HELD,
      candidates.filter(one => reserve.has(one)),
    )
    return own
  },
}

/** Undefined: the model names no fallbacks, or none that the key may use. */
function reserveOf(call: Call, route: Route, candidates: readonly Exchange[]): Reserve | undefined {
  const fallbacks = call.choice?.routing?.fallbacks
  if (fallbacks === undefined || candidates.length === 0) return undefined
  const reserve = new Reserve()
  for (const model of new Set(FAILURE_CAUSES.flatMap(cause => fallbacks[cause] ?? []))) {
    const choice = call.caller?.may(model) === true ? route.resolve(model) : undefined
    if (choice === undefined) continue
    const fallback = { model, choice }
    // Some target may serve several models.
    for (const exchange of order(choice, Math.random))
      if (!candidates.includes(exchange)) reserve.add(exchange, fallback)
  }
  return reserve.exchanges.length === 0 ? undefined : reserve
}

/** Whether another model is asked if this one refuses the content. */
function leadsFromRefusal({ call, exchange, number, calls, isFurther }: AttemptView): boolean {
  const models = call.choice?.routing?.fallbacks?.content_refused
  if (models === undefined || exchange.failures?.content_refused === undefined) return false
  if (isFurther || calls > 1 || number >= exchange.retry.attempts) return false
  if (call.get(FOLLOWED)?.has('content_refused') === true) return false
  return leftFor(call, models).length > 0
}

/** Candidates of these models that are for such a request, in the order of the models. */
function leftFor(call: Call, models: readonly string[]): readonly Exchange[] {
  const reserve = call.get(RESERVE)
  const request = viewOf(call, call.body)
  const held = call.get(HELD) ?? []
  const meant = held.filter(one => isFor(one, request))
  return models.flatMap(model => meant.filter(one => reserve?.of(one)?.model === model))
}

function led(route: Route, attempt: AttemptView, failure: Failure, next: Next): Next {
  const { call, exchange } = attempt
  const [held, fallbacks] = [call.get(HELD), call.choice?.routing?.fallbacks]
  if (held === undefined || fallbacks === undefined || next.isNoted === true) return next
  // What may have begun something is not sent again.
  if (route.task !== undefined && !tookNothing(failure.condition)) return next
  const cause = causeOfFailure(exchange, failure)
  const followed = call.get(FOLLOWED)
  if (cause === undefined || followed?.has(cause) === true) return next
  // Another target of the model may be less busy, but not less short.
  if (!OF_REQUEST.has(cause) && next.left.length > 0 && exchange.retry.covers(failure.condition)) return next
  const left = leftFor(call, fallbacks[cause] ?? [])
  if (left.length === 0) return next
  ruleUsed(fallbacks, cause)
  call.set(FOLLOWED, new Set([...(followed ?? []), cause]))
  return { ...next, left, isWanted: true }
}
