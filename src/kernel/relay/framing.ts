import type { Framing, RouteFraming } from '../../core/route-settings.js'
import type { Call } from '../call.js'

/** The framing of this call's stream: the route's, or the one that the query names. */
export function framingOf(call: Call, { byDefault, parameter, values }: RouteFraming): Framing {
  if (parameter === undefined) return byDefault
  const value = call.query?.get(parameter) ?? undefined
  return value !== undefined && Object.hasOwn(values, value) ? (values[value] ?? byDefault) : byDefault
}
