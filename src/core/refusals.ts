import type { Caller } from './caller.js'
import { type Family, GatewayError } from './errors.js'
import type { Placement } from './placement.js'
import type { Miss, Plan, Route } from './plan.js'

/*
 * Why a request is not taken, or not served: the errors that the client gets. Serving and explaining make them here. A `cause`
 * is for the log and the operator alone.
 */

/** `misplaced`: where a credential was sent that is not taken there. */
export function unauthenticated(placements: readonly Placement[], cause: string, misplaced?: Placement): GatewayError {
  const said = misplaced && `A credential was sent ${describe(misplaced)}, where it is not taken.`
  const message = `${said ?? 'A valid API key is required.'} Send it ${describe(placements[0])}.`
  return new GatewayError('unauthenticated', message, { cause })
}

/** `fault` absent: the client has shown no certificate. */
export function refusedCertificate(fault: string | undefined, cause?: string): GatewayError {
  if (fault === undefined) {
    return new GatewayError('unauthenticated', 'A client certificate is required.', { cause: 'no client certificate' })
  }
  return new GatewayError('unauthenticated', `The client certificate is refused: ${fault}.`, {
    cause: `client certificate: ${cause ?? fault}`,
  })
}

/** `fault` is for the client: who has a good signature may know why it does not count. */
export function refusedSignedUrl(fault: string, cause?: string): GatewayError {
  return new GatewayError('unauthenticated', `The signed URL is refused: ${fault}.`, {
    cause: `signed URL: ${cause ?? fault}`,
  })
}

function describe(placement: Placement | undefined): string {
  switch (placement?.in) {
    case 'header':
      return placement.scheme === undefined
        ? `in the header ${placement.name}`
        : `as "${placement.name}: ${placement.scheme} YOUR_KEY"`
    case 'query':
      return `in the query parameter ${placement.name}`
    case 'subprotocol':
      return 'as a WebSocket subprotocol'
    case undefined:
      return 'with the request'
  }
}

/** Longest path that an error repeats, in characters. */
const MAX_PATH_CHARS = 200

/** A request that no route takes. */
export function unrouted({ status, allow, instead }: Miss, method: string, path: string): GatewayError {
  switch (status) {
    case 400:
      return new GatewayError('bad_request', 'The path of the request is not valid.')
    case 404: {
      const what = `${method} ${path.slice(0, MAX_PATH_CHARS)}`
      return new GatewayError('not_found', `Invalid URL (${what})${adviceFor(instead)}`)
    }
    case 405:
      return new GatewayError('method_not_allowed', `Only ${allow.join(', ')} is accepted here.`, { allow })
    case 426:
      return new GatewayError('upgrade_required', 'This path needs a WebSocket handshake.', {
        headers: ['upgrade', 'websocket'],
      })
  }
}

/** Most such clients have a base address that lacks `/v1`, or has it twice. */
function adviceFor(instead: string | undefined): string {
  if (instead === undefined) return ''
  return `; this is served at ${instead.slice(0, MAX_PATH_CHARS)}: check the base address of the client`
}

/** A model that no one has, or that the caller may not use: both answer alike. */
export function unknownModel(model: string, route: Route, cause?: string): GatewayError {
  const own = route.protocol?.unknownModel
  const message = own?.message?.replaceAll('{model}', model)
  return new GatewayError(
    'model_not_found',
    message ?? `The model \`${model}\` does not exist or you do not have access to it.`,
    { ...(own === undefined ? {} : { status: own.status }), param: own?.param, cause },
  )
}

/** None of the upstreams is in a region that the caller may reach: a model there is as one that it may not use. */
export function outOfRegions(route: Route | undefined, model: string, upstreams: readonly string[]): GatewayError {
  const cause = `out of the key's regions: ${upstreams.join(', ')}`
  if (route?.model !== undefined) return unknownModel(model, route, cause)
  return new GatewayError('forbidden', 'No upstream that this key may reach serves this.', { cause })
}

/** What is said of a model that is asked for by itself, and that is not in the caller's list. */
export function unlistedModel(name: string, family: Family, cause: string): GatewayError {
  return new GatewayError('model_not_found', UNLISTED[family]?.(name) ?? `The model '${name}' does not exist`, {
    param: 'model',
    cause,
  })
}

const UNLISTED: Partial<Readonly<Record<Family, (name: string) => string>>> = {
  messages: name => `model: ${name}`,
  native: name =>
    `models/${name} is not found for API version v1beta. Call ListModels to see the list of available models and their supported methods.`,
}

/** Most operations that an error names. */
const MAX_NAMED_OPERATIONS = 4

/** What is said of a model that the caller may use and that nothing serves on this route: it may serve other operations. */
export function unservedModel(
  model: string,
  route: Route,
  { models, routes }: Pick<Plan, 'models' | 'routes'>,
  caller: Caller | undefined,
  cause: string,
): GatewayError {
  if (caller === undefined || models.find(model, caller) === undefined) return unknownModel(model, route, cause)
  const serving = routes.filter(one => one.model !== undefined && one.shipped && one.resolve(model) !== undefined)
  const others = serving.slice(0, MAX_NAMED_OPERATIONS).map(({ id }) => id)
  const more = serving.length > MAX_NAMED_OPERATIONS ? ', …' : ''
  const instead = others.length === 0 ? '' : ` It can be used with ${others.join(', ')}${more}.`
  const own = route.protocol?.unknownModel
  return new GatewayError('model_not_supported', `The model \`${model}\` cannot be used with ${route.id}.${instead}`, {
    ...(own === undefined ? {} : { status: own.status }),
    param: 'model',
    cause,
  })
}

/** A route with one upstream, which is off. */
export function switchedOff(cause: string | undefined): GatewayError {
  return new GatewayError('unavailable', 'The upstream of this endpoint is switched off.', { cause })
}

/** The model's targets are for other requests. `cause`: which condition of each does not hold. */
export function unmeant(cause: string): GatewayError {
  return new GatewayError('invalid_parameter', 'No target of this model takes such a request.', { cause })
}

export function untranslatable(field: string, why: string): GatewayError {
  return new GatewayError('untranslatable', `The model cannot be given '${field}': ${why}.`, { param: field })
}

export function routeForbidden(route: string): GatewayError {
  return new GatewayError('forbidden', `This key may not use ${route}.`, { limit: 'routes' })
}

/** Of what went wrong in the gateway itself. */
export function unexpected(cause: unknown): GatewayError {
  return new GatewayError('internal', 'The gateway failed to handle this request.', { cause })
}
