import type { Exchange, Route } from '../../core/plan.js'
import type { Call } from '../call.js'

/**
 * Whether a message of the client may name a model. The bytes pass as they are, so what counts is which model the upstream
 * understands by that name: the one that the session was opened with, or another that this caller may use under the very
 * same name on the same upstream.
 */
export function modelJudge({ caller }: Call, route: Route, { upstream, model }: Exchange): (name: string) => boolean {
  return name => {
    if (name === model) return true
    if (caller?.may(name) !== true) return false
    const groups = route.resolve(name)?.groups ?? []
    return groups.some(({ exchanges }) => exchanges.some(one => one.upstream === upstream && one.model === name))
  }
}
