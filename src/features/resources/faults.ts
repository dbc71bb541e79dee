import { GatewayError } from '../../core/errors.js'
import type { ModelHint, ResourceKind } from '../../core/resources.js'

/** Longest part of a client's name that an error repeats, characters. */
const MAX_SHOWN_CHARS = 200

/** The same answer for ids of other callers and for unknown ids. */
export function noObject(kind: ResourceKind | undefined, id: string, param?: string): GatewayError {
  const message = `No such ${kind?.title ?? 'object'}: '${id.slice(0, MAX_SHOWN_CHARS)}'.`
  return new GatewayError('not_found', message, { param })
}

/** The upstream that has a resource of the request cannot serve the request. */
export function onOtherUpstream(id: string, model: string, hints: readonly ModelHint[], param?: string): GatewayError {
  const who = model === '' ? 'a single upstream' : `an upstream that serves the model '${model}' now`
  const places = hints.map(({ from, name }) => `the ${from === 'query' ? 'query parameter' : 'header'} ${name}`)
  const how = places.length === 0 ? '' : ` and name the model in ${places.join(' or ')}`
  return new GatewayError(
    'invalid_parameter',
    `The resource that the request names ('${id.slice(0, MAX_SHOWN_CHARS)}') is not at ${who}. Upload it again${how}.`,
    { param },
  )
}

export function noUpstreamNow(): GatewayError {
  return new GatewayError('unavailable', 'No upstream of your models can keep this now.')
}

/** A model that only says where to create a resource, and the parameter or header that names it. */
export interface Hint {
  readonly model: string
  readonly param: string
}

/** No upstream of the model can ever keep it: another model may help, a retry does not. */
export function noUpstreamEver(hint: Hint | undefined): GatewayError {
  const who =
    hint === undefined ? 'No upstream of your models' : `No upstream of '${hint.model.slice(0, MAX_SHOWN_CHARS)}'`
  return new GatewayError('invalid_parameter', `${who} can keep this. Name a model whose upstream can.`, {
    param: hint?.param,
  })
}

/** A batch may name any model, and the caller may use only some. */
export function needsAllModels(): GatewayError {
  return new GatewayError(
    'invalid_parameter',
    'This key may use only some models, and the gateway cannot see which models this request names.',
    { status: 403 },
  )
}
