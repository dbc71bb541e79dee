import type { Plan, Route } from './plan.js'

/**
 * Whether a query parameter is for the gateway itself: the callers' keys of any route, and the model, which the exchange
 * renames if the request names one.
 */
export function ownQuery(
  { model, framing, resumableUpload, modelHints, caller }: Route,
  keys: Plan['keys'],
  namesModel: boolean,
  name: string,
  value: string,
): boolean {
  return (
    (model?.from === 'query' && model.name === name && namesModel) ||
    framing.parameter === name ||
    resumableUpload?.parameter === name ||
    modelHints.some(hint => hint.from === 'query' && hint.name === name) ||
    caller.some(placement => placement.in === 'query' && placement.name === name) ||
    !('refused' in keys.find(value, Date.now()))
  )
}
