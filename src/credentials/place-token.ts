import type { Placement } from '../core/placement.js'
import type { UpstreamRequest } from '../transport/client/handler.js'

/** Where the file says that a token goes. */
export class TokenPlace {
  readonly #place: Placement
  /** The token that `#value` was made of. */
  #of: string | undefined
  /** As it is sent: a scheme and the token. Made once for each token. */
  #value = ''

  constructor(place: Placement) {
    this.#place = place
  }

  /** The request with the token. */
  put({ method, path, headers, body }: UpstreamRequest, token: string): UpstreamRequest {
    const place = this.#place
    if (place.in === 'query') {
      const parameter = `${encodeURIComponent(place.name)}=${encodeURIComponent(token)}`
      return { method, path: `${path}${path.includes('?') ? '&' : '?'}${parameter}`, headers, body }
    }
    if (token !== this.#of) {
      const before = place.in === 'header' ? (place.scheme === undefined ? '' : `${place.scheme} `) : place.prefix
      this.#value = before + token
      this.#of = token
    }
    const name = place.in === 'header' ? place.name : 'sec-websocket-protocol'
    return { method, path, headers: [...headers, name, this.#value], body }
  }
}
