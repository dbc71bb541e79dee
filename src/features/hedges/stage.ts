import type { Exchange } from '../../core/plan.js'
import { slot } from '../../kernel/slot.js'
import type { AttemptView, Outcome, Stage } from '../../kernel/stages.js'
import type { TargetTimes, Times } from './times.js'

/** The share of answers within whose time a target is left alone, where `after` is p95. */
const SHARE = 0.95

/** When an attempt began, as long as its answer has not. */
const BEGUN = slot<number>('hedges')

/** Says when a second target is asked beside one that does not answer, and learns how long targets take. */
export function hedgesStage(timesOf: (exchange: Exchange) => TargetTimes): Stage {
  const times = ({ call, exchange }: AttemptView): Times => {
    const known = timesOf(exchange)
    return call.stream ? known.streams : known.wholes
  }
  return {
    name: 'hedges',
    beforeAttempt(attempt: AttemptView): undefined {
      if (attempt.exchange.hedge?.after === 'p95') attempt.set(BEGUN, performance.now())
    },
    patience(attempt) {
      const after = attempt.exchange.hedge?.after
      return after === 'p95' ? times(attempt).within(SHARE) : after
    },
    onContent(attempt) {
      const begun = attempt.get(BEGUN)
      if (begun === undefined) return
      attempt.set(BEGUN, undefined)
      times(attempt).add(performance.now() - begun)
    },
    afterAttempt(attempt: AttemptView, { phase }: Outcome): void {
      const begun = attempt.get(BEGUN)
      if (begun === undefined || phase !== 'cancelled' || !attempt.isSent) return
      // It was given up: it takes at least as long as that.
      const milliseconds = performance.now() - begun
      const known = times(attempt)
      if (milliseconds >= (known.within(SHARE) ?? Number.POSITIVE_INFINITY)) known.add(milliseconds)
    },
  }
}
