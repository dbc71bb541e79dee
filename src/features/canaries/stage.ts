import type { Exchange, Route } from '../../core/plan.js'
import type { Canary } from '../../core/strategy.js'
import type { Body } from '../../kernel/body.js'
import type { Call } from '../../kernel/call.js'
import { order } from '../../kernel/resolve.js'
import type { AttemptView, Outcome, Stage } from '../../kernel/stages.js'
import { isInShare } from '../../wire/canary-share.js'
import { verdictOf } from '../health/verdict.js'
import { viewOf } from '../strategies/asked.js'
import type { Canaries } from './canaries.js'
import { TRIAL, Trial } from './trial.js'
import type { CanaryWatch } from './watch.js'

/** Gives canaries their share, and takes it back where they fail more often than the others. `now`: milliseconds since the epoch. */
export function canariesStage(route: Route, canaries: Canaries, now: () => number): Stage {
  return {
    name: 'canaries',
    narrow(call, candidates, body) {
      const canary = call.choice?.routing?.canary
      return canary === undefined
        ? candidates
        : tried(canary, canaries.of(canary), { call, route, body, now }, candidates)
    },
    afterAttempt(attempt, outcome) {
      const canary = attempt.call.choice?.routing?.canary
      if (canary !== undefined) compare(canary, canaries.of(canary), attempt, outcome, now())
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
function tried(
  canary: Canary,
  watch: CanaryWatch,
  { call, route, body, now }: Asked,
  candidates: readonly Exchange[],
): readonly Exchange[] {
  const { choice } = call
  if (choice === undefined) return candidates
  if (watch.isResting && watch.wakes(now())) notice(call, canary, watch, 'a canary is tried again')
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

/** Only the first attempt of a request: those after it are asked for what others failed at. */
function compare(canary: Canary, watch: CanaryWatch, attempt: AttemptView, outcome: Outcome, now: number): void {
  const { call, exchange, number, isFurther } = attempt
  const verdict = number > 1 || isFurther ? undefined : verdictOf(outcome)
  if (verdict === undefined) return
  const isCanary = call.get(TRIAL)?.has(exchange) === true
  if (watch.observe(isCanary, verdict !== 'good', now, canary.rest))
    notice(call, canary, watch, 'a canary fails more often than the others and gets no requests')
}

function notice({ kernel }: Call, { of, to, rest }: Canary, { standing }: CanaryWatch, message: string): void {
  const { canary, others, restsUntil } = standing
  const counts = { canary: { to, ...canary }, others }
  kernel.onNotice({ model: of, ...counts, ...(restsUntil !== undefined && { pause: rest }) }, message)
}
