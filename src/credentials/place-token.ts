import type { Placement } from '../core/placement.js'
import type { UpstreamRequest } from '../transport/client/handler.js'

/** The request with a token where the file says. */
export function placed(
  { method, path, headers, body }: UpstreamRequest,
  token: string,
  place: Placement,
): UpstreamRequest {
  if (place.in === 'query') {
    const parameter = `${encodeURIComponent(place.name)}=${encodeURIComponent(token)}`
    return { method, path: `${path}${path.includes('?') ? '&' : '?'}${parameter}`, headers, body }
  }
  const before = place.in === 'header' ? (place.scheme === undefined ? '' : `${place.scheme} `) : place.prefix
  const name = place.in === 'header' ? place.name : 'sec-websocket-protocol'
  return { method, path, headers: [...headers, name, before + token], body }
}
