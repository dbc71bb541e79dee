import { GatewayError } from '../core/errors.js'
import type { Choice, Exchange, Group, Route } from '../core/plan.js'
import type { Call } from './call.js'

export const NOT_ALLOWED = 'the key may not use this model'

/**
 * The ways to serve this call, best first. A model that nobody has, one that this key may not use and one whose
 * upstreams are all switched off answer alike.
 */
export function resolve(call: Call, route: Route): readonly Exchange[] {
  if (route.model !== undefined && call.caller?.may(call.model) !== true) {
    throw unknownModel(call.model, route, NOT_ALLOWED)
  }
  const choice = route.resolve(call.model)
  if (choice === undefined) {
    if (route.model === undefined) throw switchedOff(call, route)
    throw unsupportedModel(call, route) ?? unknownModel(call.model, route, whyNot(call))
  }
  return order(choice, Math.random)
}

/** Why nothing serves a model that the caller may use, for the log. */
export function whyNot({ generation, model }: Call): string {
  return generation.plan.off.whyNot(model) ?? 'no upstream of this model serves this route'
}

function switchedOff({ generation }: Call, { speakers }: Route): GatewayError {
  const cause = generation.plan.off.reason([...speakers])
  return new GatewayError('unavailable', 'The upstream of this endpoint is switched off.', { cause })
}

/** Most operations that an error names. */
const MAX_NAMED = 4

/** A model that the caller has, but for other operations; undefined where nothing serves it now. */
function unsupportedModel(call: Call, route: Route): GatewayError | undefined {
  const { model, caller, generation } = call
  const { plan } = generation
  if (caller === undefined || plan.models.find(model, caller) === undefined) return undefined
  const serving = plan.routes.filter(one => one.model !== undefined && one.shipped && one.resolve(model) !== undefined)
  const others = serving.slice(0, MAX_NAMED).map(({ id }) => id)
  const more = serving.length > MAX_NAMED ? ', …' : ''
  const instead = others.length === 0 ? '' : ` It can be used with ${others.join(', ')}${more}.`
  const own = route.protocol?.unknownModel
  return new GatewayError('model_not_supported', `The model \`${model}\` cannot be used with ${route.id}.${instead}`, {
    ...(own === undefined ? {} : { status: own.status }),
    param: 'model',
    cause: whyNot(call),
  })
}

/** `cause` is for the log alone: it is not told apart for the caller. */
export function unknownModel(model: string, route: Route, cause?: string): GatewayError {
  const own = route.protocol?.unknownModel
  const message = own?.message?.replaceAll('{model}', model)
  return new GatewayError(
    'model_not_found',
    message ?? `The model \`${model}\` does not exist or you do not have access to it.`,
    { ...(own === undefined ? {} : { status: own.status }), param: own?.param, cause },
  )
}

/** Groups in order; within a group one exchange is drawn in proportion to the weights, then the next among the rest. */
export function order(choice: Choice, random: () => number): readonly Exchange[] {
  const only = choice.groups[0]
  if (choice.groups.length === 1 && only?.exchanges.length === 1) return only.exchanges
  return choice.groups.flatMap(group => drawn(group, random))
}

function drawn(group: Group, random: () => number): readonly Exchange[] {
  if (group.exchanges.length === 1) return group.exchanges
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
