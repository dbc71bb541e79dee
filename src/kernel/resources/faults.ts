import { GatewayError } from '../../core/errors.js'
import type { ModelHint, ResourceKind } from '../../core/resources.js'

/** How much of a name that a client made up is said back. */
const MAX_SHOWN_CHARS = 200

/** What is not the caller's and what does not exist answer alike. */
export function noObject(kind: ResourceKind | undefined, id: string): GatewayError {
  return new GatewayError('not_found', `No such ${kind?.title ?? 'object'}: '${id.slice(0, MAX_SHOWN_CHARS)}'.`)
}

/** The upstream that has what a request names cannot serve the request. */
export function onOtherUpstream(id: string, model: string, hints: readonly ModelHint[]): GatewayError {
  const who = model === '' ? 'a single upstream' : `an upstream that serves the model '${model}' now`
  const places = hints.map(({ from, name }) => `the ${from === 'query' ? 'query parameter' : 'header'} ${name}`)
  const how = places.length === 0 ? '' : ` and name the model in ${places.join(' or ')}`
  return new GatewayError(
    'invalid_parameter',
    `The resource that the request names ('${id.slice(0, MAX_SHOWN_CHARS)}') is not at ${who}. Upload it again${how}.`,
  )
}

export function noUpstreamNow(): GatewayError {
  return new GatewayError('unavailable', 'No upstream of your models can keep this now.')
}

/** A model that says where things are to be, and the parameter or header that names it. */
export interface Hint {
  readonly model: string
  readonly param: string
}

/** Nobody could ever hold it: another model may help, asking again does not. */
export function noUpstreamEver(hint: Hint | undefined): GatewayError {
  const who =
    hint === undefined ? 'No upstream of your models' : `No upstream of '${hint.model.slice(0, MAX_SHOWN_CHARS)}'`
  return new GatewayError('invalid_parameter', `${who} can keep this. Name a model whose upstream can.`, {
    param: hint?.param,
  })
}

/** What runs there may ask for any model, and the caller may not. */
export function needsAllModels(): GatewayError {
  return new GatewayError(
    'invalid_parameter',
    'This key may use only some models, and the gateway cannot see which models this request names.',
    { status: 403 },
  )
}
