import type { Exchange } from '../../core/plan.js'
import type { Call } from '../../kernel/call.js'

/**
 * Translates a model's name in a client's message to the upstream's: the session's own model, by either of its names, or
 * another one that this caller may use at the same upstream. Undefined for others.
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
