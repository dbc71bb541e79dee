import type { Exposed } from '../../core/exposed.js'
import type { Call } from '../../kernel/call.js'
import { AttemptTimes, type Feature, type Stage } from '../../kernel/stages.js'
import { Asked } from './asked.js'
import { addExposed, HEADER_NAMES } from './headers.js'

const NOTHING: readonly Exposed[] = []

/**
 * Lets answers say who answered: headers that `expose` of the file lists, or of the caller's key in place of it. A stage of
 * every route, and of paths without one, in plans where some caller may have such headers.
 */
export const expose: Feature = {
  name: 'expose',
  compile({ plan }) {
    if (plan.exposing.length === 0) return undefined
    const listOf = ({ caller }: Call): readonly Exposed[] => caller?.expose ?? plan.features.expose ?? NOTHING
    const stage: Stage = {
      name: 'expose',
      exposes: plan.exposing.map(word => HEADER_NAMES[word]),
      beforeAttempt(attempt) {
        const exposed = listOf(attempt.call)
        if (exposed.length === 0) return undefined
        if (exposed.includes('timing')) attempt.times ??= new AttemptTimes()
        Asked.begin(attempt)
        return undefined
      },
      afterAttempt(attempt, { phase }) {
        Asked.of(attempt.call)?.end(attempt, phase)
      },
      onAnswerHead(call, _status, headers) {
        const exposed = listOf(call)
        if (exposed.length > 0) addExposed(call, exposed, headers)
      },
    }
    return stage
  },
}
