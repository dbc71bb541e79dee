import type { Choice, Exchange, Group, Route } from '../core/plan.js'
import { switchedOff, unknownModel, unservedModel } from '../core/refusals.js'
import type { Call } from './call.js'

export const NOT_ALLOWED = 'the key may not use this model'

/**
 * The exchanges for this call, best first. The answer is the same for an unknown model, one that this key may not
 * use, and one whose upstreams are all disabled.
 */
export function resolve(call: Call, route: Route): readonly Exchange[] {
  if (route.model !== undefined && call.caller?.may(call.model) !== true) {
    throw unknownModel(call.model, route, NOT_ALLOWED)
  }
  const choice = route.resolve(call.model)
  if (choice === undefined) {
    const { plan } = call.generation
    if (route.model === undefined) throw switchedOff(plan.off.reason([...route.speakers]))
    throw unservedModel(call.model, route, plan, call.caller, whyNot(call))
  }
  call.choice = choice
  return order(choice, Math.random)
}

/** For the log: why no upstream serves a model that the caller may use. */
export function whyNot({ generation, model }: Call): string {
  return generation.plan.off.whyNot(model) ?? 'no upstream of this model serves this route'
}

/** Groups in order; within a group one exchange is drawn in proportion to the weights, then the next among the rest. */
export function order(choice: Choice, random: () => number): readonly Exchange[] {
  const only = choice.groups[0]
  if (choice.groups.length === 1 && only !== undefined) return drawn(only, random)
  return choice.groups.flatMap(group => drawn(group, random))
}

function drawn(group: Group, random: () => number): readonly Exchange[] {
  const { length } = group.exchanges
  if (length === 1) return group.exchanges
  if (length === 2) return drawnOfTwo(group, random)
  const rest = group.exchanges.map((exchange, index) => ({ exchange, weight: group.weights[index] ?? 1 }))
  const result: Exchange[] = []
  while (rest.length > 0) {
    let left = random() * rest.reduce((sum, one) => sum + one.weight, 0)
    const found = rest.findIndex(one => {
      left -= one.weight
      return left < 0
    })
    const [taken] = rest.splice(found < 0 ? rest.length - 1 : found, 1)
    if (taken !== undefined) result.push(taken.exchange)
  }
  return result
}

/** The same without lists of what is left, which cost more than the rest of the choice. */
function drawnOfTwo({ exchanges, weights }: Group, random: () => number): readonly Exchange[] {
  const [one, other] = exchanges as readonly [Exchange, Exchange]
  const [first, second] = [weights[0] ?? 1, weights[1] ?? 1]
  return random() * (first + second) < first ? exchanges : [other, one]
}
