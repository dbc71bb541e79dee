import { copied } from '../../kernel/inner.js'
import { slot } from '../../kernel/slot.js'
import type { Feature } from '../../kernel/stages.js'
import { verdictOf } from '../health/verdict.js'
import { GenerationsService } from './service.js'

/** The first content of a call has been timed. */
const TIMED = slot<true>('generations')

/**
 * Several generations of the configuration beside one another: what a changed file comes to, and requests that name a generation. Files
 * without `reload` have no stage of it.
 */
export const generations: Feature<GenerationsService> = {
  name: 'generations',
  open: kernel => new GenerationsService(kernel),
  compile({ plan }, service) {
    if (plan.reload === undefined) return undefined
    return {
      name: 'generations',
      admit: call => service.check(call),
      onContent({ call }) {
        const found = service.measureOf(call)
        if (found === undefined || call.get(TIMED) === true) return
        call.set(TIMED, true)
        found.measure.began(performance.now() - call.started)
      },
      // As for canaries of models: only the first attempt, and what the upstream is to blame for.
      afterAttempt({ call, number, isFurther }, outcome) {
        if (number > 1 || isFurther || copied(call.request) !== undefined) return
        const verdict = verdictOf(outcome)
        const found = verdict === undefined ? undefined : service.measureOf(call)
        if (found === undefined) return
        found.measure.ended(verdict !== 'good')
        service.onOutcome(found.isFresh, verdict !== 'good')
      },
    }
  },
}
