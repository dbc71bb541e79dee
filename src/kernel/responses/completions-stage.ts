import { mayAskToKeep } from '../../core/stateful.js'
import type { Feature } from '../stages.js'
import { draftCompletion } from './completion-draft.js'

/** Chat completions that their clients ask to store. */
export const completions: Feature = {
  name: 'completions',
  compile({ route }) {
    if (route?.lane !== 'exchange' || !mayAskToKeep(route.protocol?.name)) return undefined
    return {
      name: 'completions',
      onBody: (call, body) => (call.wantsStored ? draftCompletion(call, body) : body),
      narrow: (call, candidates) => call.completion?.named(candidates) ?? candidates,
    }
  },
}
