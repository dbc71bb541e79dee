import type { Exchange } from '../core/plan.js'
import { ruleUsed } from '../core/rule-watch.js'
import type { RequestShape, TakenValue } from '../core/shape.js'
import type { Call } from './call.js'

/**
 * What `take` names of the client's path, query and headers, with its place in the body; what is not there is not taken. A model's
 * name in the path becomes the upstream's name of it.
 */
export function takenValues(
  { taken }: RequestShape,
  call: Call,
  exchange: Exchange,
): readonly (readonly [TakenValue['path'], string])[] {
  const { from, name } = call.route?.model ?? {}
  return taken.flatMap(one => {
    const isModel = one.from === 'path' && from === 'path' && one.name === name
    const value = isModel ? exchange.model : besideOf(call, one)
    if (value === undefined) return []
    ruleUsed(one)
    return [[one.path, value] as const]
  })
}

function besideOf(call: Call, { from, name }: TakenValue): string | undefined {
  if (from === 'path') return call.params[name]
  if (from === 'query') return call.query?.get(name) ?? undefined
  const value = call.request.headers[name]
  return Array.isArray(value) ? value[0] : value
}
