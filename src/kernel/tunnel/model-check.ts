import type { Exchange } from '../../core/plan.js'
import type { Call } from '../call.js'

/**
 * The name by which the upstream of a session knows a model that a message of the client names: the one that the session
 * was opened with, by either of its names, or another that this caller may use on the same upstream. Undefined for others.
 */
export function modelCheck(
  { caller, generation, model: asked }: Call,
  { upstream, model }: Exchange,
): (name: string) => string | undefined {
  return name => {
    if (name === model || name === asked) return model
    return caller?.may(name) === true ? generation.plan.models.nameAt(name, upstream.name) : undefined
  }
}
