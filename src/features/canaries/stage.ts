import type { Exchange, Route } from '../../core/plan.js'
import type { Body } from '../../kernel/body.js'
import type { Call } from '../../kernel/call.js'
import type { Kernel } from '../../kernel/kernel.js'
import { order } from '../../kernel/resolve.js'
import type { AttemptView, Outcome, Stage } from '../../kernel/stages.js'
import { viewOf } from '../../kernel/view-of.js'
import { isInShare } from '../../wire/canary-share.js'
import { verdictOf } from '../health/verdict.js'
import type { Canaries, Known } from './canaries.js'
import type { CanarySharing } from './sharing.js'
import { TRIAL, Trial } from './trial.js'

/** What the stage needs of the process. */
interface Process {
  readonly canaries: Canaries
  readonly sharing: CanarySharing
  /** Milliseconds since the epoch. */
  now(): number
}

/** Gives canaries their share, and takes it back where they fail more often than the others. */
export function canariesStage(route: Route, { canaries, sharing, now }: Process): Stage {
  return {
    name: 'canaries',
    narrow(call, candidates, body) {
      const canary = call.choice?.routing?.canary
      return canary === undefined ? candidates : tried(canaries.of(canary), { call, route, body, now }, candidates)
    },
    afterAttempt(attempt, outcome) {
      const canary = attempt.call.choice?.routing?.canary
      if (canary !== undefined) compare(canaries.of(canary), { canaries, sharing }, attempt, outcome, now())
    },
  }
}

interface Asked {
  readonly call: Call
  readonly route: Route
  readonly body: Body
  readonly now: () => number
}

/** The candidates, with those of the canary where this call tries it. */
function tried(known: Known, { call, route, body, now }: Asked, candidates: readonly Exchange[]): readonly Exchange[] {
  const { choice } = call
  if (choice === undefined) return candidates
  const { canary, watch } = known
  if (watch.isResting && watch.wakes(now()) && watch.isOurs) notice(call.kernel, known, 'a canary is tried again')
  const isTried = !watch.isResting && isInShare(canary, viewOf(call, body), Math.random)
  if (canary.isTarget) {
    const those = candidates.filter(({ upstream }) => upstream.name === canary.to)
    call.set(TRIAL, new Trial(choice, isTried, those))
    return candidates
  }
  const other = isTried && call.caller?.may(canary.to) === true ? route.resolve(canary.to) : undefined
  if (other === undefined) return candidates
  const those = order(other, Math.random).filter(one => !candidates.includes(one))
  call.set(TRIAL, new Trial(other, true, those))
  return [...those, ...candidates]
}

/** Who hears of outcomes. */
interface Noted {
  readonly canaries: Canaries
  readonly sharing: CanarySharing
}

/** Only the first attempt of a request: those after it are asked for what others failed at. */
function compare(
  known: Known,
  { canaries, sharing }: Noted,
  attempt: AttemptView,
  outcome: Outcome,
  now: number,
): void {
  const { call, exchange, number, isFurther } = attempt
  const { canary, watch } = known
  const verdict = number > 1 || isFurther ? undefined : verdictOf(outcome)
  if (verdict === undefined) return
  const isCanary = call.get(TRIAL)?.has(exchange) === true
  const hasFailed = verdict !== 'good'
  canaries.onOutcome(canary, isCanary, hasFailed)
  if (watch.isResting) return
  sharing.saw(known, isCanary, hasFailed, now)
  if (!watch.observe(isCanary, hasFailed, now, canary.rest)) return
  noticeRest(call.kernel, known)
  sharing.rests(known)
}

/** Says that a canary gets no requests from now on. */
export function noticeRest(kernel: Kernel, known: Known): void {
  notice(kernel, known, 'a canary fails more often than the others and gets no requests')
}

function notice(kernel: Kernel, { canary: { of, to, rest }, watch }: Known, message: string): void {
  const { canary, others, restsUntil } = watch.standing
  const counts = { canary: { to, ...canary }, others }
  kernel.onNotice({ model: of, ...counts, ...(restsUntil !== undefined && { pause: rest }) }, message)
}
