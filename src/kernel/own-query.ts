import type { Call } from './call.js'

/**
 * Whether a query parameter is for the gateway itself: the callers' keys of any route, and the model, which the
 * exchange renames.
 */
export function ownQuery(call: Call, name: string, value: string): boolean {
  const { route, generation } = call
  return (
    (route?.model?.from === 'query' && route.model.name === name && call.namesModel) ||
    route?.framing.parameter === name ||
    route?.resumableUpload?.parameter === name ||
    route?.modelHints.some(hint => hint.from === 'query' && hint.name === name) === true ||
    route?.caller.some(placement => placement.in === 'query' && placement.name === name) === true ||
    !('refused' in generation.plan.keys.find(value, Date.now()))
  )
}
