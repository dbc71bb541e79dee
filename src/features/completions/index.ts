import { KEEP_MEMBER, mayAskToKeep } from '../../core/stateful.js'
import type { Feature } from '../../kernel/stages.js'
import { stateBounds } from '../responses/bounds.js'
import { COMPLETION_ANSWERS } from './answers.js'
import { COMPLETION_STORE, Completions } from './completions.js'
import { COMPLETION, draftCompletion, WANTS_STORED } from './draft.js'

/** Stores chat completions if clients ask for that. */
export const completions: Feature = {
  name: 'completions',
  open(kernel) {
    const completions = new Completions(kernel.store, stateBounds(kernel), error => kernel.onStoreFault(error))
    kernel.provide(COMPLETION_STORE, completions)
    return { close: () => completions.settled() }
  },
  compile({ route }) {
    const serve = route?.answer && COMPLETION_ANSWERS[route.answer]
    if (route !== undefined && serve !== undefined) return { name: 'completions', serve: call => serve(call, route) }
    if (route?.lane !== 'exchange' || !mayAskToKeep(route.protocol?.name)) return undefined
    return {
      name: 'completions',
      onMembers(call, member) {
        if (member(KEEP_MEMBER) === true) call.set(WANTS_STORED, true)
      },
      onBody: (call, body) => (call.get(WANTS_STORED) ? draftCompletion(call, body) : body),
      narrow: (call, candidates) => call.get(COMPLETION)?.named(candidates) ?? candidates,
      // An answer that will be stored must be readable.
      onUpstreamRequest({ call, exchange: { upstream } }, headers) {
        if (call.get(COMPLETION) === undefined || call.request.headers['accept-encoding'] === undefined) return
        const at = headers.indexOf('accept-encoding')
        if (at >= 0 && call.generation.reach(upstream).yielding.has('accept-encoding')) headers.splice(at, 2)
      },
    }
  },
}
